// The contract for calls of a tool, in any process: the engine checks, asks, stops, limits and records them. Each test
// plays one session with a scripted model, against the same tool that the tests of tool.ts run alone.
import assert from 'node:assert/strict'
import type { Store, Tool, ToolContext, ToolOutput } from '../../engine/ports/index.ts'
import { type CallResult, type Outcome, readOutputName } from '../../language/calls.ts'
import { joinText as contentText } from '../../language/content.ts'
import type { Entry } from '../../language/history.ts'
import { mayRepeat } from '../../language/tools.ts'
import type { Json } from '../../lib/json/index.ts'
import { Turnwire } from '../../library/turnwire.ts'
import { scripted } from '../../models/scripted/index.ts'
import { memoryStore } from '../../stores/memory.ts'
import type { PlayScene, ToolScene } from './tool.ts'

type Run = { attempt: number; signal: AbortSignal }
type Watched = { tool: Tool; runs: Run[]; started: Promise<void> }

/** The same tool, trusted, with its runs counted. */
function watched(tool: Tool, over: Partial<Tool> = {}): Watched {
  const runs: Run[] = []
  const started = Promise.withResolvers<void>()
  const run = (input: Json, context: ToolContext): ReturnType<Tool['run']> => {
    runs.push({ attempt: context.attempt, signal: context.signal })
    started.resolve()
    return tool.run(input, context)
  }
  return { tool: { ...tool, trust: 'trusted', retries: 0, ...over, run }, runs, started: started.promise }
}

type Opened = {
  turnwire: Turnwire
  session: Awaited<ReturnType<Turnwire['session']>>
}

/** Of the test that runs: they are closed when it is over, however it ended. */
const engines = new Set<Turnwire>()

function closing(play: PlayScene): PlayScene {
  return (title, scenario, run) =>
    play(title, scenario, async scene => {
      try {
        await run(scene)
      } finally {
        await Promise.all([...engines].map(engine => engine.close()))
        engines.clear()
      }
    })
}

async function open(tool: Tool, text: string, store?: Store): Promise<Opened> {
  const call = { name: tool.name, text }
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'helper',
        tools: [tool],
        model: scripted(({ history }, at) => {
          if (at === 0) return { calls: [call] }
          const last = history.at(-1)
          const readsOn = last?.role === 'user' && contentText(last.parts) === readOn
          return readsOn
            ? { calls: [{ name: readOutputName, input: { id: callIdIn(history) } }] }
            : { text: 'Done.' }
        }),
      },
    ],
    data: store ?? memoryStore(),
    server: { log: 'error', graceMs: 1 },
  })
  engines.add(turnwire)
  return { turnwire, session: await turnwire.session('helper') }
}

/** Has the model read more of the result that it was shown. */
const readOn = 'Read on.'

function callIdIn(history: readonly Entry[]): string {
  const [result] = history.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  return result?.callId ?? ''
}

function inputText({ tool, input }: ToolScene): string {
  return tool.input.form === 'text' && typeof input === 'string' ? input : JSON.stringify(input)
}

async function readOutcome({ session }: Opened): Promise<Outcome> {
  const entries = await session.history()
  const results = entries.flatMap((entry): CallResult[] => (entry.role === 'tool' ? entry.results : []))
  assert.equal(results.length, 1, 'the call is settled exactly once')
  const [{ outcome } = assert.fail()] = results
  assert.ok(outcome.parts.length > 0)
  return outcome
}

export function callTests(player: PlayScene): void {
  const play = closing(player)
  play('a call that is allowed runs once, and its result is recorded', 'answers', async scene => {
    const { tool, runs } = watched(scene.tool)
    const opened = await open(tool, inputText(scene))
    await opened.session.send('Go.')
    const { kind, from } = await readOutcome(opened)
    assert.deepEqual([kind, from, runs.length], ['ok', { source: 'tool', tool: tool.name }, 1])
  })

  play('arguments that do not fit never reach it', 'answers', async scene => {
    const { tool, runs } = watched(scene.tool)
    if (tool.input.form === 'text' && !tool.input.grammar && scene.invalid === undefined) return
    const opened = await open(tool, scene.invalid ?? (tool.input.form === 'text' ? '' : '[1]'))
    await opened.session.send('Go.')
    assert.deepEqual([(await readOutcome(opened)).kind, runs.length], ['invalid', 0])
  })

  play('a call that policy or a person denies never reaches it', 'answers', async scene => {
    for (const trust of ['deny', 'ask'] as const) {
      const { tool, runs } = watched(scene.tool, { trust })
      const opened = await open(tool, inputText(scene))
      const reply = await opened.session.send('Go.')
      if (reply.status === 'waiting') await opened.session.deny(reply.pending[0]?.callId ?? '')
      const { kind } = await readOutcome(opened)
      // A tool that may never run is not offered at all.
      assert.ok(kind === (trust === 'ask' ? 'denied' : kind) && kind !== 'ok', kind)
      assert.equal(runs.length, 0)
    }
  })

  play('a failure is an error that the model can read', 'fails', async scene => {
    const opened = await open(watched(scene.tool).tool, inputText(scene))
    await opened.session.send('Go.')
    const { kind, parts } = await readOutcome(opened)
    assert.equal(kind, 'error')
    if (scene.says !== undefined) assert.ok(JSON.stringify(parts).includes(scene.says))
  })
}

export function stopTests(player: PlayScene): void {
  const play = closing(player)
  play('it is stopped at its deadline', 'slow', async scene => {
    const { tool, runs } = watched(scene.tool, { timeoutMs: 100 })
    const opened = await open(tool, inputText(scene))
    await opened.session.send('Go.')
    assert.deepEqual([(await readOutcome(opened)).kind, runs[0]?.signal.aborted], ['timeout', true])
  })

  play('it is stopped when the turn is cancelled', 'slow', async scene => {
    const { tool, runs, started } = watched(scene.tool)
    const opened = await open(tool, inputText(scene))
    const turn = opened.session.send('Go.')
    await Promise.all([turn.accepted, started])
    await opened.session.cancel()
    await turn
    assert.deepEqual([(await readOutcome(opened)).kind, runs[0]?.signal.aborted], ['cancelled', true])
  })

  play('after a crash it runs again only if it may', 'slow', async scene => {
    const store = memoryStore()
    const before = watched(scene.tool)
    const first = await open(before.tool, inputText(scene), store)
    const turn = first.session.send('Go.')
    turn.catch(() => {})
    await Promise.all([turn.accepted, before.started])
    const after = watched(scene.tool)
    const mayRunAgain = mayRepeat(after.tool) || after.tool.resumable === true
    // The store's new writer: what the process before it wrote last is all that is known.
    const second = await open(after.tool, inputText(scene), store)
    const session = await second.turnwire.resume(first.session.id)
    if (mayRunAgain) {
      await after.started
      await session.cancel()
      assert.equal(after.runs[0]?.attempt, 2)
    } else {
      await session.wait()
      assert.equal(after.runs.length, 0)
    }
    const { kind } = await readOutcome({ ...second, session })
    assert.equal(kind, mayRunAgain ? 'cancelled' : 'unknown')
  })
}

export function outputTests(player: PlayScene): void {
  const play = closing(player)
  play('a result over its limit is cut for the model, and kept whole', 'huge', async scene => {
    const { tool } = watched(scene.tool)
    const opened = await open(tool, inputText(scene))
    await opened.session.send('Go.')
    const { parts, cut } = await readOutcome(opened)
    assert.ok(cut, 'the result was not cut: it is not larger than the limit')
    // Pictures have limits of their own.
    const texts = parts.filter(part => part.type === 'text')
    assert.ok(JSON.stringify(texts).length < 2 * tool.outputLimit + 4_096)
    // The model can read the rest.
    await opened.session.send(readOn)
    const read = (await opened.session.history()).findLast(entry => entry.role === 'tool')
    assert.ok(read?.role === 'tool')
    const [{ name, outcome } = assert.fail()] = read.results
    assert.deepEqual([name, outcome.kind], [readOutputName, 'ok'])
  })

  play('a result that breaks its own promise is an error', 'wrong', async scene => {
    const { tool, runs } = watched(scene.tool)
    const opened = await open(tool, inputText(scene))
    await opened.session.send('Go.')
    assert.deepEqual([(await readOutcome(opened)).kind, runs.length], ['error', 1])
  })

  play('what it reports is shown before its result', 'reports', async scene => {
    const opened = await open(watched(scene.tool).tool, inputText(scene))
    const seen: string[] = []
    for await (const { type } of opened.session.send('Go.')) seen.push(type)
    const first = seen.findIndex(type => type === 'progress' || type === 'output')
    assert.ok(first >= 0 && first < seen.indexOf('result'), seen.join(' '))
  })

  play('a result that comes later is taken once', 'later', async scene => {
    const { tool, runs } = watched(scene.tool)
    const opened = await open(tool, inputText(scene))
    const turn = opened.session.send('Go.')
    let callId = ''
    for await (const item of turn) if (item.type === 'call') callId = item.callId
    assert.equal((await turn).status, 'waiting')
    const { later: given = { parts: [{ type: 'text', text: 'at last' }] } } = scene
    const reply = await opened.session.result(callId, given.parts, resultOptions(given))
    assert.equal(reply.status, 'done')
    assert.deepEqual([(await readOutcome(opened)).kind, runs.length], ['ok', 1])
    await assert.rejects(async () => opened.session.result(callId, 'again').accepted, {
      code: 'call_settled',
    })
  })
}

function resultOptions({ structured, details }: ToolOutput): { structured?: Json; details?: Json } {
  return { ...(structured !== undefined && { structured }), ...(details !== undefined && { details }) }
}
