// What the trials share: one scripted model, one trivial tool, the engine around them, and the bare loop that does the
// same work with nothing on: no checks, no policy, no log.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  type Agent,
  type EnginePorts,
  type Model,
  OpenSessions,
  type Session,
  type Store,
  type Tool,
} from '../src/engine/index.ts'
import type { Delta } from '../src/language/events.ts'
import type { Entry } from '../src/language/history.ts'
import { scripted } from '../src/models/scripted/index.ts'
import { createGate } from '../src/policy/index.ts'
import { memoryStore } from '../src/stores/memory.ts'
import { sqliteStore } from '../src/stores/sqlite/index.ts'
import { tool } from '../src/tools/index.ts'
import { realWorld } from '../src/world.ts'

export const add = tool({
  name: 'add',
  description: 'Adds two numbers.',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
    additionalProperties: false,
  },
  trust: 'trusted',
  readOnly: true,
  exposed: false,
  run: ({ a, b }) => String(Number(a) + Number(b)),
})

/** A call, then an answer, for ever. */
export function cycleModel(calls = 1, name = 'add'): Model {
  const asking = {
    text: 'Let me add.',
    calls: Array.from({ length: calls }, (_, index) => ({ name, input: { a: index, b: 3 } })),
  }
  const answering = { text: 'The sum is five, as you would expect.', chunk: 8 }
  return scripted(request => (request.history.at(-1)?.role === 'user' ? asking : answering), {
    position: 'counter',
  })
}

export function makeEngine(
  store: Store,
  model: Model,
  tools: readonly Tool[] = [add],
  gate = createGate(),
  receipts?: EnginePorts['receipts'],
): OpenSessions {
  const agent: Agent = {
    name: 'bench',
    version: '1.0.0',
    tools,
    options: [],
    gate,
    limits: {
      steps: 1e9,
      calls: 1e9,
      identicalCalls: 1e9,
      time: 1e9,
      bytes: 1e12,
      sessionBytes: 1e12,
      tokens: 1e12,
      money: 1e12,
    },
    choice: 'auto',
    parallel: true,
    callsAtOnce: 1e9,
    clientTools: true,
    fullHistory: true,
    images: { http: true, data: true },
    model: () => model,
  }
  return new OpenSessions({
    store,
    world: realWorld(''),
    vault: { seal: text => text, open: text => text },
    agent: () => agent,
    ...(receipts && { receipts }),
    log() {},
  })
}

export function begin(engine: OpenSessions): Promise<Session> {
  const settings = { tools: null, options: {}, clientTools: [] }
  return engine.create({ owner: 'bench', agent: 'bench', wire: 'bench', settings, seed: [] })
}

/** One turn, watched and written out as a wire would, until it is durable and over. */
export function cycle(session: Session): Promise<number> {
  return turn(session, delta => JSON.stringify(delta).length)
}

/** One turn, until it is durable and over. Gives what `size` made of all that was shown. */
export function turn(
  session: Session,
  size: (delta: Delta) => number,
  text = 'What is two and three?',
): Promise<number> {
  return new Promise((resolve, reject) => {
    let shown = 0
    const unwatch = session.feed.watch(item => {
      if (item.type === 'delta') shown += size(item.delta)
      if (item.type === 'closed') reject(item.reason)
      if (item.type !== 'status' || item.status === 'running') return
      unwatch()
      resolve(shown)
    })
    session.say({ parts: [{ type: 'text', text }], wire: 'bench' }).catch(reject)
  })
}

/** The loop that anyone would write first: ask, run, ask again. `commit` is where a durable one would sync. */
export async function bareCycle(
  model: Model,
  history: Entry[],
  watch: (text: string) => void,
  commit?: (rows: readonly unknown[]) => void,
): Promise<void> {
  history.push({ role: 'user', parts: [{ type: 'text', text: 'What is two and three?' }] })
  const request = {
    session: 's',
    history,
    tools: [add],
    choice: 'auto',
    parallel: true,
    options: {},
  } as const
  for (;;) {
    const answer = await model.respond(
      request,
      delta => watch(JSON.stringify(delta)),
      new AbortController().signal,
    )
    const calls = answer.parts.filter(part => part.type === 'call')
    history.push({
      role: 'assistant',
      parts: answer.parts.map((part, index) => (part.type === 'call' ? { ...part, id: `c${index}` } : part)),
    })
    commit?.([history.at(-2), history.at(-1)])
    if (calls.length === 0) return
    const results = await Promise.all(
      calls.map(async (call, index) => {
        const { a, b } = JSON.parse(call.text)
        const parts = [{ type: 'text' as const, text: String(a + b) }]
        return {
          callId: `c${index}`,
          name: call.name,
          outcome: { kind: 'ok' as const, parts, from: { source: 'runtime' as const } },
        }
      }),
    )
    history.push({ role: 'tool', results })
  }
}

/** Commits rows with a sync each time, as a loop that must not forget would. */
export function syncedCommits(file: string): {
  commit: (rows: readonly unknown[]) => void
  close: () => void
} {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE log (body TEXT)')
  const insert = database.prepare('INSERT INTO log VALUES (?)')
  return {
    commit: rows => {
      database.exec('BEGIN IMMEDIATE')
      insert.run(JSON.stringify(rows))
      database.exec('COMMIT')
    },
    close: () => database.close(),
  }
}

export function tempFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'turnwire-bench-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

export { join, memoryStore, sqliteStore }
