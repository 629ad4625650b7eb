// Runs the trials and prints what was measured; `npm run bench -- cycle parallel` takes those whose name holds a word.
// `--compare <commit>` runs them in turns with those of another commit (compare.ts), `--write` puts what was measured into the page
// (page.ts), `--minutes <n>` takes fewer rounds where a trial would take more than its share of them. Exits 1 when a bar is
// missed. Figures of a busy machine are worth little: see docs/operations/performance.md.
import { writeFileSync } from 'node:fs'
import { startProgress } from '../src/cli/progress.ts'
import { wholeTurns } from './aap-turn.ts'
import { agentDojo } from './agentdojo.ts'
import * as cluster from './cluster.ts'
import * as codecs from './codecs.ts'
import { compareWith } from './compare.ts'
import * as engine from './engine.ts'
import { fanOut } from './fan-out.ts'
import { flowCost } from './flow-cost.ts'
import { statelessRequests } from './gateway.ts'
import { type Result, runTrial, show, type Trial } from './harness.ts'
import { heldByOneNode } from './held.ts'
import { hostileClients } from './hostile.ts'
import { idleReaders } from './idle-readers.ts'
import { sessionsAtWork, turnsInFlight } from './in-flight.ts'
import * as load from './load.ts'
import * as tools from './many-tools.ts'
import * as http from './over-http.ts'
import { keepMeasured } from './page.ts'
import * as peers from './peers.ts'
import * as onPostgres from './postgres.ts'
import { receiptsCost } from './receipts.ts'
import { securedTurns } from './secured.ts'
import * as server from './server.ts'
import * as stored from './stored.ts'
import { firstResult } from './tool-search.ts'
import { transcoding } from './transcode.ts'
import { unitCosts } from './unit-costs.ts'
import { youngProcess } from './young.ts'

const makers: Record<string, () => Promise<Trial | Trial[] | Result | Result[]>> = {
  'cycle-memory': engine.cycleInMemory,
  'cycle-disk': engine.cycleOnDisk,
  'cycle-young': youngProcess,
  'long-session': engine.longSession,
  'http-cycle': http.cyclesOverHttp,
  'http-long-session': http.longSessionOverHttp,
  parallel: engine.parallelCalls,
  streams: engine.longStreams,
  transcode: transcoding,
  server: server.turnsPerSecond,
  'aap-turn': wholeTurns,
  'server-appends': load.appendsAtOnce,
  'server-stalls': load.stallsUnderLoad,
  'postgres-appends': onPostgres.appendsOnPostgres,
  'postgres-turns': onPostgres.turnsOnPostgres,
  'hostile-ticks': hostileClients,
  'idle-readers': idleReaders,
  gateway: statelessRequests,
  'fan-out': fanOut,
  'disk-bytes': stored.bytesOnDisk,
  'disk-open': stored.openLongSession,
  start: server.startAndIdle,
  'start-tools': tools.startWithTools,
  schemas: tools.thousandSchemas,
  'tool-search': firstResult,
  'in-flight': turnsInFlight,
  'at-work': sessionsAtWork,
  secured: securedTurns,
  'node-held': heldByOneNode,
  'unit-costs': unitCosts,
  'nodes-hop': cluster.hopToHolder,
  'nodes-three': cluster.threeNodes,
  'nodes-take-over': cluster.takeOver,
  'codec-read': codecs.readAnswers,
  'codec-next': codecs.nextRequests,
  'flow-cost': flowCost,
  'receipts-cost': receiptsCost,
  agentdojo: agentDojo,
  ...(peers.installed && {
    'peers-cycle': peers.cyclesOfPeers,
    'peers-parallel': peers.parallelOfPeers,
    'peers-streams': peers.streamsOfPeers,
  }),
}

/** Run only when they are named: one has no bar, the other needs suites that are elsewhere. */
const byName: ReadonlySet<string> = new Set(['unit-costs', 'agentdojo'])
/** Many trials need less than their share, so that the others may have a multiple of it. */
const shares = 2

const words = process.argv.slice(2)
const compare = words.indexOf('--compare')
if (compare >= 0) {
  const [, ref = 'main'] = words.splice(compare, 2)
  process.exit(compareWith(ref, words))
}
const write = words.indexOf('--write')
if (write >= 0) words.splice(write, 1)
const minutes = words.indexOf('--minutes')
const mostMs = (minutes >= 0 ? Number(words.splice(minutes, 2)[1]) : Infinity) * 60_000
if (!(mostMs > 0)) {
  console.error('How many minutes? For instance: npm run bench -- --minutes 20')
  process.exit(2)
}
const until = performance.now() + mostMs
const results: Result[] = []
const chosen = [...Object.entries(makers).entries()].filter(([, [name]]) =>
  words.length === 0 ? !byName.has(name) : words.some(word => name.includes(word)),
)
let failures = 0
for (const [done, [order, [name, make]]] of chosen.entries()) {
  const began = performance.now()
  try {
    const own = await measure(make, `Measuring ${name}`, done)
    results.push(...own)
    if (write >= 0) keepMeasured(name, order, { results: own })
  } catch (error) {
    // A long run goes on with the other trials.
    if (write < 0) throw error
    failures += 1
    console.error(`${name} failed:`, error)
    keepMeasured(name, order, { failed: error instanceof Error ? error.message : String(error) })
  }
  if (write >= 0) console.log(`${name}: ${Math.round((performance.now() - began) / 1000)} s\n`)
}

async function measure(make: (typeof makers)[string], what: string, done: number): Promise<Result[]> {
  const own: Result[] = []
  const progress = startProgress(what, 'trials', { atOnce: true })
  progress.step(done, chosen.length)
  const share = ((until - performance.now()) / (chosen.length - done)) * shares
  try {
    const trials = [await make()].flat<(Trial | Result | Trial[] | Result[])[]>()
    for (const trial of trials) {
      // Otherwise the next trial would pay for the garbage of this one.
      globalThis.gc?.()
      own.push('medians' in trial ? trial : await runTrial(trial, Math.max(0, share / trials.length)))
    }
  } finally {
    progress.end()
  }
  for (const result of own) console.log(`${show(result)}\n`)
  return own
}

if (chosen.length === 0) {
  console.error(`No trial matches. There are: ${Object.keys(makers).join(', ')}.`)
  process.exit(2)
}
if (process.env['BENCH_OUT']) writeFileSync(process.env['BENCH_OUT'], `${JSON.stringify(results, null, 2)}\n`)
process.exit(failures === 0 && results.every(result => result.bars.every(bar => bar.met)) ? 0 : 1)
