// The engine against the bare loop: one cycle, long sessions, many calls at once, long streams.

import type { Model } from '../src/engine/index.ts'
import type { Entry } from '../src/language/history.ts'
import { scripted } from '../src/models/scripted/index.ts'
import { tool } from '../src/tools/index.ts'
import type { Trial } from './harness.ts'
import {
  bareCycle,
  begin,
  cycle,
  cycleModel,
  join,
  makeEngine,
  memoryStore,
  sqliteStore,
  syncedCommits,
  tempFolder,
} from './parts.ts'

/** P1: CPU of one cycle in memory. */
export async function cycleInMemory(): Promise<Trial> {
  const cycles = 2000
  const model = cycleModel()
  const engine = makeEngine(memoryStore(), model)
  return {
    name: 'one cycle in memory (CPU)',
    measure: 'cpu',
    units: cycles,
    rounds: 15,
    warmUps: 5,
    variants: [
      {
        name: 'bare loop',
        async run() {
          const history: Entry[] = []
          let shown = 0
          for (let index = 0; index < cycles; index += 1)
            await bareCycle(model, history, text => {
              shown += text.length
            })
          return shown
        },
      },
      {
        name: 'turnwire, in memory',
        async run() {
          const session = await begin(engine)
          for (let index = 0; index < cycles; index += 1) await cycle(session)
          await engine.remove('bench', session.id)
        },
      },
    ],
    bars: [{ id: 'P1', ours: 'turnwire, in memory', floor: 'bare loop', most: 5 }],
  }
}

/** P2: one cycle with everything synced to disk. */
export async function cycleOnDisk(): Promise<Trial> {
  const cycles = 300
  const model = cycleModel()
  const folder = tempFolder()
  const store = sqliteStore({ file: join(folder.path, 'turnwire.db') })
  const engine = makeEngine(store, model)
  const bare = syncedCommits(join(folder.path, 'bare.db'))
  return {
    name: 'one cycle, synced to disk (wall)',
    measure: 'wall',
    units: cycles,
    warmUps: 30,
    variants: [
      {
        name: 'bare loop with two synced commits',
        async run() {
          const history: Entry[] = []
          for (let index = 0; index < cycles; index += 1)
            await bareCycle(model, history, () => {}, bare.commit)
        },
      },
      {
        name: 'turnwire, SQLite FULL',
        async run() {
          const session = await begin(engine)
          for (let index = 0; index < cycles; index += 1) await cycle(session)
        },
      },
    ],
    bars: [
      { id: 'P2', ours: 'turnwire, SQLite FULL', floor: 'bare loop with two synced commits', most: 1.5 },
    ],
    async close() {
      await store.close()
      bare.close()
      folder.remove()
    },
  }
}

/** P3: the last hundred of 3,000 cycles in one session against the first hundred. */
export async function longSession(): Promise<Trial> {
  const folder = tempFolder()
  const store = sqliteStore({ file: join(folder.path, 'turnwire.db') })
  const engine = makeEngine(store, cycleModel())
  const young = await begin(engine)
  const old = await begin(engine)
  for (let index = 0; index < 2900; index += 1) await cycle(old)
  const hundred = async (session: typeof old) => {
    for (let index = 0; index < 100; index += 1) await cycle(session)
  }
  let fresh = young
  return {
    name: 'a hundred cycles of a session that is new, and of one that has had 3,000 (wall, SQLite FULL)',
    measure: 'wall',
    units: 100,
    rounds: 9,
    variants: [
      {
        name: 'the first hundred',
        async run() {
          await hundred(fresh)
          fresh = await begin(engine)
        },
      },
      { name: 'the last hundred', run: () => hundred(old) },
    ],
    bars: [{ id: 'P3', ours: 'the last hundred', floor: 'the first hundred', most: 1.2 }],
    async close() {
      await store.close()
      folder.remove()
    },
  }
}

/** P4: one turn with many calls of 10 ms, intents and outcomes durable. */
export async function parallelCalls(): Promise<Trial[]> {
  const wait = tool({
    name: 'wait',
    description: 'Waits ten milliseconds.',
    input: { type: 'object' },
    trust: 'trusted',
    exposed: false,
    run: () => new Promise<string>(resolve => setTimeout(() => resolve('done'), 10)),
  })
  return Promise.all(
    [1, 16, 64, 256].map(async count => {
      const folder = tempFolder()
      const store = sqliteStore({ file: join(folder.path, 'turnwire.db') })
      const engine = makeEngine(store, cycleModel(count, 'wait'), [wait])
      const session = await begin(engine)
      const bare = syncedCommits(join(folder.path, 'bare.db'))
      return {
        name: `one turn with ${count} parallel calls of 10 ms (wall, SQLite FULL)`,
        measure: 'wall',
        units: 1,
        rounds: 25,
        warmUps: 120,
        variants: [
          {
            name: 'timers between synced commits',
            async run() {
              bare.commit(Array.from({ length: count }, (_, index) => ({ started: index })))
              const timers = Array.from(
                { length: count },
                () => new Promise(resolve => setTimeout(resolve, 10)),
              )
              await Promise.all(timers)
              bare.commit(Array.from({ length: count }, (_, index) => ({ settled: index })))
            },
          },
          { name: 'turnwire', run: () => cycle(session) },
        ],
        bars:
          count === 256
            ? [{ id: 'P4', ours: 'turnwire', floor: 'timers between synced commits', most: 1.4 }]
            : [],
        async close() {
          await store.close()
          bare.close()
          folder.remove()
        },
      } satisfies Trial
    }),
  )
}

/** Long streams: 10,000 pieces of text, and 1 MB (and half of it) of arguments in pieces of five bytes. */
export async function longStreams(): Promise<Trial[]> {
  const text = scripted(() => ({ text: 'word '.repeat(10_000), chunk: 5 }))
  const argumentsOf = (bytes: number): Model =>
    scripted(request =>
      request.history.at(-1)?.role === 'user'
        ? { calls: [{ name: 'take', input: { text: 'x'.repeat(bytes) } }], chunk: 5 }
        : { text: 'Taken.' },
    )
  const take = tool({
    name: 'take',
    description: 'Takes a text.',
    input: { type: 'object' },
    trust: 'trusted',
    exposed: false,
    run: () => 'ok',
  })
  const bare = (model: Model) => async (): Promise<number> => {
    let shown = 0
    await bareCycle(model, [], text => {
      shown += text.length
    })
    return shown
  }
  const play = (model: Model) => {
    const engine = makeEngine(memoryStore(), model, [take])
    return async () => {
      const session = await begin(engine)
      const shown = await cycle(session)
      // What is kept of one round must not burden the next.
      await engine.remove(session.state.owner, session.id)
      return shown
    }
  }
  const [whole, half] = [argumentsOf(1_000_000), argumentsOf(500_000)]
  return [
    {
      name: '10,000 pieces of text (CPU)',
      measure: 'cpu',
      units: 1,
      variants: [
        { name: 'bare loop', run: bare(text) },
        { name: 'turnwire', run: play(text) },
      ],
      bars: [{ id: 'text stream', ours: 'turnwire', floor: 'bare loop', most: 4 }],
    },
    {
      name: '1 MB of arguments in pieces of five bytes (CPU)',
      measure: 'cpu',
      units: 1,
      rounds: 21,
      warmUps: 5,
      variants: [
        { name: 'bare loop', run: bare(whole) },
        { name: 'turnwire, half of it', run: play(half) },
        { name: 'turnwire', run: play(whole) },
      ],
      bars: [
        { id: 'P5', ours: 'turnwire', floor: 'bare loop', most: 1.2 },
        { id: 'P5 (linear)', ours: 'turnwire', floor: 'turnwire, half of it', most: 2.2 },
      ],
    },
  ]
}
