// A soak: two nodes on one PostgreSQL work for a long time while everything goes wrong that may. Streams of the model break,
// clients go away and come back, one node is killed and started again, the database crashes and recovers, people allow,
// refuse or do not answer, old sessions are deleted. The other node is never killed: its memory must stay flat, no turn may
// be lost, no log may have a gap, no effect may happen twice.
//
//   npm run soak -- --minutes 30
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Fault, type RunningDouble, type ScriptedTurn, startDouble } from '../src/testing/index.ts'
import { type OwnServer, startServer, withClient } from '../test/stores/postgres/server.ts'
import { median } from './harness.ts'
import { join, tempFolder } from './parts.ts'
import { here, type Memory, type Served, startTurnwire } from './served.ts'
import { type Counts, noCounts, SoakClient } from './soak-client.ts'

export type SoakOptions = {
  minutes: number
  clients: number
  /** Seconds between two kills of a node, and between two crashes of the database. */
  killEach: number
  crashEach: number
  sampleEach: number
  say(line: string): void
}

type Sample = { minute: number } & Memory

export type Soaked = Counts & {
  samples: Sample[]
  kills: number
  crashes: number
  brokenStreams: number
  /** Sessions that retention deleted. */
  retained: number
  /** Memory of the last sixth of the time against that of the second sixth. */
  heapGrowth: number
  rssGrowth: number
}

const faults: readonly Fault[] = [
  { kind: 'reset-after-frames', frames: 2 },
  { kind: 'eof-before-end' },
  { kind: 'eof-after-tool-name' },
  { kind: 'error-event' },
  { kind: 'hang-after-frames', frames: 2 },
  { kind: 'overloaded' },
  { kind: 'rate-limit', retryAfter: 0 },
  { kind: 'reset' },
]
const FAULTY = 0.08
const flags = ['--expose-gc', '--import', here('fixtures/probe.ts')]
const secret = 'the secret of the nodes of a soak, for this alone'

/** What the model says: a call if it is asked for one, else words; now and then its stream breaks. */
function answerTo(body: unknown, broke: () => void): ScriptedTurn {
  const { messages } = body as { messages: unknown[] } // the double has checked it
  const last = JSON.stringify(messages.at(-1))
  // A message whose turn failed is sent again with the next one.
  const wanted = [...last.matchAll(/Please (\w+)/g)].at(-1)?.[1]
  const turn: ScriptedTurn = last.includes('tool_result')
    ? { text: 'All done.' }
    : wanted === 'pay'
      ? { text: 'Let me see.', calls: [{ name: 'pay', input: { n: messages.length } }] }
      : wanted === 'mail'
        ? { calls: [{ name: 'mail', input: { n: messages.length } }] }
        : { text: 'A slow answer. '.repeat(20), chunk: 20, delayMs: 15 }
  if (Math.random() >= FAULTY) return turn
  broke()
  return { ...turn, fault: faults[Math.floor(Math.random() * faults.length)]! }
}

class Soak {
  readonly #options: SoakOptions
  readonly #folder = tempFolder()
  readonly #effects = join(this.#folder.path, 'effects')
  readonly #counts = noCounts()
  readonly #over = new AbortController()
  readonly #samples: Sample[] = []
  #told = 0
  #broken = 0
  #kills = 0
  #crashes = 0
  #vendor!: RunningDouble
  #database!: OwnServer
  #steady!: Served
  #mortal: Served | undefined

  constructor(options: SoakOptions) {
    this.#options = options
  }

  async run(): Promise<Soaked> {
    const { minutes, clients, killEach, crashEach, sampleEach } = this.#options
    writeFileSync(this.#effects, '')
    this.#vendor = await startDouble({
      vendor: 'anthropic',
      script: body => answerTo(body, () => (this.#broken += 1)),
    })
    this.#database = await startServer()
    this.#steady = await this.#node()
    this.#mortal = await this.#node()
    const began = performance.now()
    const every = async (seconds: number, work: () => Promise<unknown>): Promise<void> => {
      for (;;) {
        await pause(seconds * 1_000, undefined, { signal: this.#over.signal }).catch(() => {})
        if (this.#over.signal.aborted) return
        await work()
      }
    }
    const loops = [
      every(sampleEach, () => this.#sample((performance.now() - began) / 60_000)),
      every(killEach, () => this.#kill()),
      every(crashEach, () => this.#crash()),
      // The double keeps what was said to it.
      every(1, async () => (this.#vendor.exchanges.length = 0)),
    ]
    const nodes = (): string[] => [this.#steady.url, ...(this.#mortal ? [this.#mortal.url] : [])]
    const workers = Array.from({ length: clients }, () =>
      new SoakClient(nodes, this.#counts, this.#over.signal).work(),
    )
    await pause(minutes * 60_000)
    this.#over.abort()
    await Promise.all([...loops, ...workers])
    const soaked = await this.#result()
    await this.#end()
    return soaked
  }

  #node(): Promise<Served> {
    const env = {
      VENDOR_URL: this.#vendor.url,
      SOAK_EFFECTS: this.#effects,
      TURNWIRE_CLUSTER_SECRET: secret,
    }
    return startTurnwire('soak.config.ts', this.#database.url, env, flags)
  }

  async #sample(minute: number): Promise<void> {
    const memory = await this.#steady.ask('memory')
    this.#samples.push({ minute, ...memory })
    for (const each of this.#counts.wrong.slice(this.#told)) this.#options.say(`WRONG: ${each}`)
    this.#told = this.#counts.wrong.length
    const { turns, again, wrong } = this.#counts
    const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
    this.#options.say(
      `minute ${minute.toFixed(1)}: heap ${mib(memory.heapUsed)} MiB, rss ${mib(memory.rss)} MiB, ${turns} turns, ` +
        `${again} sent again, ${this.#kills} kills, ${this.#crashes} crashes, ${wrong.length} wrong`,
    )
  }

  /** Another node takes its place. Meanwhile only the steady one is there. */
  async #kill(): Promise<void> {
    const killed = this.#mortal
    this.#mortal = undefined
    if (!killed) return
    const { child } = killed
    if (child.exitCode !== null)
      this.#counts.wrong.push(`a node ended by itself, with code ${child.exitCode}`)
    else {
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
      this.#kills += 1
    }
    await pause(Math.random() * 3_000)
    for (;;) {
      try {
        this.#mortal = await this.#node()
        return
      } catch (error) {
        // The database is away. It prints why.
        if (this.#over.signal.aborted) return
        this.#options.say(String(error).slice(0, 200))
        await pause(1_000)
      }
    }
  }

  async #crash(): Promise<void> {
    await this.#database.stop('immediate')
    this.#crashes += 1
    await pause(Math.random() * 2_000)
    await this.#database.start()
  }

  async #result(): Promise<Soaked> {
    const effects = readFileSync(this.#effects, 'utf8').trim().split('\n')
    const twice = effects.length - new Set(effects).size
    if (twice > 0) this.#counts.wrong.push(`${twice} effects happened twice`)
    const kept = await withClient(this.#database.url, async sql => {
      const [row] = await sql<{ count: string; stuck: string }[]>`
        SELECT count(*) AS count, count(*) FILTER (WHERE status = 'running') AS stuck FROM turnwire.sessions`
      return row
    })
    if (Number(kept?.stuck) > 0) this.#counts.wrong.push(`${kept?.stuck} sessions are at work for ever`)
    const { sessions, deleted } = this.#counts
    const part = (from: number, to: number, of: (sample: Sample) => number): number =>
      median(this.#samples.slice(this.#samples.length * from, Math.max(this.#samples.length * to, 1)).map(of))
    const growth = (of: (sample: Sample) => number): number => part(5 / 6, 1, of) / part(1 / 6, 2 / 6, of)
    return {
      ...this.#counts,
      samples: this.#samples,
      kills: this.#kills,
      crashes: this.#crashes,
      brokenStreams: this.#broken,
      retained: sessions - deleted - Number(kept?.count),
      heapGrowth: growth(({ heapUsed }) => heapUsed),
      rssGrowth: growth(({ rss }) => rss),
    }
  }

  async #end(): Promise<void> {
    await Promise.all([this.#steady.stop(), this.#mortal?.stop()])
    await this.#vendor.close()
    await this.#database.remove()
    this.#folder.remove()
  }
}

export function soak(options: SoakOptions): Promise<Soaked> {
  return new Soak(options).run()
}

/** Flat: within the noise of a heap that is measured after a collection of garbage, and of memory that is not given back. */
const mostHeapGrowth = 1.1
const mostRssGrowth = 1.15

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '30' },
      clients: { type: 'string', default: '16' },
      'kill-each': { type: 'string', default: '75' },
      'crash-each': { type: 'string', default: '200' },
      out: { type: 'string' },
    },
  })
  const soaked = await soak({
    minutes: Number(values.minutes),
    clients: Number(values.clients),
    killEach: Number(values['kill-each']),
    crashEach: Number(values['crash-each']),
    sampleEach: 10,
    say: line => console.log(line),
  })
  const { samples, wrong, ...counts } = soaked
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(soaked, null, 2)}\n`)
  console.log(counts)
  if (wrong.length > 0) console.log(`${wrong.length} things went WRONG: see above.`)
  const isFlat = soaked.heapGrowth <= mostHeapGrowth && soaked.rssGrowth <= mostRssGrowth
  console.log(
    `${samples.length} samples. Heap ${soaked.heapGrowth.toFixed(2)} times (at most ${mostHeapGrowth}), ` +
      `rss ${soaked.rssGrowth.toFixed(2)} times (at most ${mostRssGrowth}): ${isFlat ? 'flat' : 'NOT flat'}.`,
  )
  return isFlat && wrong.length === 0 ? 0 : 1
}

if (import.meta.main) process.exit(await main())
