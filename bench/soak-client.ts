// The clients of the soak: conversations over AAP whose requests are sent again, with their key, whenever a node or the
// database went away; streams that are cut and resumed; permissions that are given, refused or left. At its end each
// conversation reads its whole log and checks it: numbers without gaps, every call settled once.
import { setTimeout as pause } from 'node:timers/promises'

export type Counts = {
  sessions: number
  turns: number
  /** Turns that ended with an error, because the model's stream was broken too often. */
  failedByModel: number
  approvals: number
  cut: number
  cancelled: number
  /** Requests that were sent again. */
  again: number
  deleted: number
  /** What must not happen. */
  wrong: string[]
}

export const noCounts = (): Counts => ({
  sessions: 0,
  turns: 0,
  failedByModel: 0,
  approvals: 0,
  cut: 0,
  cancelled: 0,
  again: 0,
  deleted: 0,
  wrong: [],
})

type Stop = { stopReason: string; code?: string; error?: string }
type State = { status: string; lastEvent: number; pending: { toolCallId: string }[] }
type Logged = { id: number; type: string; callId?: string }

/** Longer than a lease, a restart of the database, and what a busy machine adds. */
const PATIENCE_MS = 90_000
const lostSight: ReadonlySet<string> = new Set(['moved', 'lease_lost', 'stopping', 'store_failed'])
let keys = 0

export class SoakClient {
  /** Addresses of the nodes that are there now. */
  readonly #nodes: () => readonly string[]
  readonly #counts: Counts
  readonly #stop: AbortSignal

  constructor(nodes: () => readonly string[], counts: Counts, stop: AbortSignal) {
    this.#nodes = nodes
    this.#counts = counts
    this.#stop = stop
  }

  /** One conversation after the other, until it is told to stop. */
  async work(): Promise<void> {
    while (!this.#stop.aborted) {
      try {
        await this.#converse()
      } catch (error) {
        this.#counts.wrong.push(String(error))
      }
    }
  }

  async #converse(): Promise<void> {
    const { sessionId } = await this.#send<{ sessionId: string }>('/sessions', { agent: { name: 'soak' } })
    this.#counts.sessions += 1
    const path = `/sessions/${sessionId}`
    for (let turns = 1 + Math.floor(Math.random() * 5); turns > 0 && !this.#stop.aborted; turns -= 1) {
      await this.#turn(path)
      this.#counts.turns += 1
      await pause(Math.random() * 500)
    }
    await this.#check(path)
    if (Math.random() < 0.5) return
    await this.#again(async url => {
      const answer = await fetch(`${url}${path}`, { method: 'DELETE' })
      // 404: the first of two attempts has deleted it.
      if (!answer.ok && answer.status !== 404) throw new Refused(answer.status, await answer.text())
    })
    this.#counts.deleted += 1
  }

  async #turn(path: string): Promise<void> {
    const chance = Math.random()
    if (chance < 0.35) return this.#noted(path, await this.#say(path, 'Please pay.'))
    if (chance < 0.65) return this.#approve(path, await this.#say(path, 'Please mail.'))
    if (chance < 0.75) return this.#cancel(path)
    if (chance < 0.9) return this.#cutOff(path)
    return this.#noted(path, await this.#say(path, 'Please talk.'))
  }

  #say(path: string, content: string): Promise<Stop> {
    return this.#send<Stop>(`${path}/turns`, { messages: [{ role: 'user', content }] })
  }

  async #noted(path: string, { stopReason, code }: Stop): Promise<void> {
    if (stopReason === 'end_turn') return
    if (stopReason === 'error' && code?.startsWith('model_')) {
      this.#counts.failedByModel += 1
      return
    }
    const log: Logged[] = []
    const last = await this.#rest(path)
    while ((log.at(-1)?.id ?? 0) < last) await this.#again(url => readLog(`${url}${path}/events`, log, last))
    const types = log.map(({ type }) => type).join(' ')
    this.#counts.wrong.push(`${path}: a turn ended with ${stopReason} ${code ?? ''}, its log is: ${types}`)
  }

  async #approve(path: string, stop: Stop): Promise<void> {
    if (stop.stopReason !== 'tool_use') return this.#noted(path, stop)
    // A person who does not answer: the next message abandons the call.
    if (Math.random() < 0.1) return
    await pause(Math.random() * 1_000)
    const granted = Math.random() < 0.75
    const { pending } = await this.#state(path)
    const messages = pending.map(({ toolCallId }) => ({ role: 'tool_permission', toolCallId, granted }))
    await this.#noted(path, await this.#send<Stop>(`${path}/turns`, { messages }))
    this.#counts.approvals += 1
  }

  async #cancel(path: string): Promise<void> {
    const said = this.#say(path, 'Please talk.')
    await pause(Math.random() * 200)
    await this.#again(async url => {
      const answer = await fetch(`${url}${path}/cancel`, { method: 'POST' })
      if (!answer.ok) throw new Refused(answer.status, await answer.text())
    })
    // It may have ended before.
    await said
    this.#counts.cancelled += 1
  }

  /** The client goes away in the middle of a stream, and asks for the rest of the log later. */
  async #cutOff(path: string): Promise<void> {
    const cut = new AbortController()
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Please talk.' }], stream: 'delta' })
    const key = newKey()
    await this.#again(async url => {
      const answer = await fetch(`${url}${path}/turns`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body,
        signal: cut.signal,
      })
      if (!answer.ok) throw new Refused(answer.status, await answer.text())
      await answer.body?.getReader().read()
      await pause(Math.random() * 150)
      cut.abort()
    })
    this.#counts.cut += 1
    await this.#rest(path)
  }

  /** Waits until the session is at rest. */
  async #rest(path: string): Promise<number> {
    const began = performance.now()
    for (;;) {
      const { status, lastEvent } = await this.#state(path)
      if (status !== 'running') return lastEvent
      if (performance.now() - began > PATIENCE_MS) throw new Error(`${path} never came to rest`)
      await pause(100)
    }
  }

  #state(path: string): Promise<State> {
    return this.#again(async url => {
      const answer = await fetch(`${url}${path}/state`)
      if (!answer.ok) throw new Refused(answer.status, await answer.text())
      return (await answer.json()) as State
    })
  }

  async #check(path: string): Promise<void> {
    const last = await this.#rest(path)
    const log: Logged[] = []
    while ((log.at(-1)?.id ?? 0) < last) await this.#again(url => readLog(`${url}${path}/events`, log, last))
    for (const [index, { id }] of log.entries())
      if (id !== index + 1) this.#counts.wrong.push(`${path}: event ${id} comes as number ${index + 1}`)
    const settled = log.filter(({ type }) => type === 'call.settled').map(({ callId }) => callId)
    if (new Set(settled).size < settled.length) this.#counts.wrong.push(`${path}: a call was settled twice`)
  }

  async #send<Answer>(path: string, body: unknown): Promise<Answer> {
    const key = newKey()
    return this.#again(async url => {
      const answer = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
      })
      if (!answer.ok) throw new Refused(answer.status, await answer.text())
      const given = (await answer.json()) as Answer & Partial<Stop>
      // What was said is recorded, and the node that was asked lost sight of it: the same request gives the answer.
      if (given.stopReason === 'error' && lostSight.has(given.code ?? ''))
        throw new Refused(503, given.code ?? '')
      return given
    })
  }

  /** Asks any node, until one has answered. */
  async #again<Answer>(ask: (url: string) => Promise<Answer>): Promise<Answer> {
    const began = performance.now()
    for (;;) {
      const nodes = this.#nodes()
      try {
        return await ask(nodes[Math.floor(Math.random() * nodes.length)] ?? '')
      } catch (error) {
        const isOver = performance.now() - began > PATIENCE_MS
        if (isOver || (error instanceof Refused && !error.mayTryAgain)) throw error
        this.#counts.again += 1
        await pause(100 + Math.random() * 400)
      }
    }
  }
}

class Refused extends Error {
  readonly mayTryAgain: boolean

  constructor(status: number, text: string) {
    super(`${status} ${text.slice(0, 300)}`)
    this.mayTryAgain = status === 429 || status >= 500
  }
}

function newKey(): string {
  keys += 1
  return `soak-${process.pid}-${keys}`
}

/** Reads events into `log` after those that it has, up to the number `last`. A stream that ends sooner gives what it has. */
async function readLog(url: string, log: Logged[], last: number): Promise<void> {
  const over = new AbortController()
  const headers = { 'last-event-id': String(log.at(-1)?.id ?? 0) }
  const answer = await fetch(url, { headers, signal: over.signal })
  if (!answer.ok || !answer.body) throw new Refused(answer.status, await answer.text())
  let rest = ''
  try {
    for await (const bytes of answer.body) {
      rest += Buffer.from(bytes).toString()
      const frames = rest.split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) {
        const id = /^id: ?(\d+)$/m.exec(frame)?.[1]
        const data = /^data: ?(.*)$/m.exec(frame)?.[1]
        if (id === undefined || data === undefined) continue
        const { type, callId } = JSON.parse(data) as { type: string; callId?: string }
        log.push({ id: Number(id), type, ...(callId !== undefined && { callId }) })
      }
      if ((log.at(-1)?.id ?? 0) >= last) return
    }
  } finally {
    over.abort()
  }
}
