// Tools that a connection brings to a session and runs itself, through the boundary.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { AttachedItem, AttachedReport, AttachedTool, SessionRef } from '../../src/engine/index.ts'
import { joinText } from '../../src/language/content.ts'
import { Abort } from '../../src/lib/async/abort.ts'
import { makeRig, owner, type Rig, type RigOptions, stopAll } from './rig.ts'

after(stopAll)

const look: AttachedTool = {
  name: 'look',
  description: 'Looks.',
  input: { form: 'json', schema: { type: 'object' } },
  kind: 'read',
  readOnly: false,
  idempotent: false,
  destructive: false,
  side: 'server',
  exposed: false,
  trust: 'trusted',
  timeoutMs: 10_000,
  retries: 0,
  outputLimit: 1024,
}

const calling: RigOptions['script'] = request =>
  request.history.at(-1)?.role === 'user'
    ? { calls: request.tools.map(({ name }) => ({ name, input: { at: 1 } })) }
    : { text: 'done' }

async function start(rig: Rig): Promise<SessionRef> {
  const settings = { tools: null, options: {}, clientTools: [] }
  const { session } = await rig.local.create({ owner, agent: 'helper', wire: 'test', settings, seed: [] })
  return { owner, session }
}

/** Attaches `look` and answers each item as the test says. `attached` resolves with the first item. */
function attach(
  rig: Rig,
  ref: SessionRef,
  answer: (item: Extract<AttachedItem, { type: 'run' | 'abort' }>) => AttachedReport | undefined,
  signal?: AbortSignal,
) {
  const attached = Promise.withResolvers<void>()
  const ended = (async () => {
    for await (const items of rig.local.attach(ref, [look], signal))
      for (const item of items) {
        if (item.type === 'attached') attached.resolve()
        else if (item.type !== 'preview') {
          const report = answer(item)
          if (report) await rig.local.report(ref, report)
        }
      }
  })()
  return { attached: attached.promise, ended }
}

async function say(rig: Rig, ref: SessionRef): Promise<[string, string][]> {
  const { first } = await rig.local.command(ref, {
    do: 'say',
    wire: 'test',
    parts: [{ type: 'text', text: 'go' }],
  })
  for await (const _ of rig.local.follow(ref, { from: first, until: 'stop', deltas: 'none' })) void _
  const { entries } = await rig.local.history(ref, { get: 'entries' })
  return entries.flatMap(entry =>
    entry.role === 'tool'
      ? entry.results.map(({ outcome }): [string, string] => [outcome.kind, joinText(outcome.parts)])
      : [],
  )
}

describe('attached tools', () => {
  test('are offered from the first item on, and run by their connection', async () => {
    const rig = makeRig({ script: calling })
    const ref = await start(rig)
    const inputs: unknown[] = []
    const { attached } = attach(rig, ref, item => {
      if (item.type !== 'run') return undefined
      inputs.push(item.input)
      return { run: item.run, output: { parts: [{ type: 'text', text: `saw ${item.name}` }] } }
    })
    await attached
    assert.deepEqual(await say(rig, ref), [['ok', 'saw look']])
    assert.deepEqual(inputs, [{ at: 1 }])
  })

  test('that fail, or refuse their input, say so', async () => {
    const rig = makeRig({ script: calling })
    const ref = await start(rig)
    let refused = false
    const { attached } = attach(rig, ref, item => {
      if (item.type !== 'run') return undefined
      return { run: item.run, error: 'no such file', ...(refused && { refused: true }) }
    })
    await attached
    assert.deepEqual(await say(rig, ref), [['error', 'The tool failed: no such file']])
    refused = true
    const [, second] = await say(rig, ref)
    assert.equal(second?.[0], 'invalid')
  })

  test('are told when their call is cancelled, and the cancellation waits for them', async () => {
    const rig = makeRig({ script: calling })
    const ref = await start(rig)
    const steps: string[] = []
    const running = Promise.withResolvers<void>()
    const { attached } = attach(rig, ref, item => {
      steps.push(item.type)
      if (item.type === 'run') {
        running.resolve()
        return undefined
      }
      return { run: item.run, output: { parts: [{ type: 'text', text: 'stopped' }] } }
    })
    await attached
    const { turn } = await rig.local.command(ref, {
      do: 'say',
      wire: 'test',
      parts: [{ type: 'text', text: 'go' }],
    })
    await running.promise
    await rig.local.command(ref, { do: 'cancel', turn: turn!, settled: true })
    assert.deepEqual(steps, ['run', 'abort'])
    // The turn is over: this finds nothing to cancel and nothing to wait for.
    assert.equal((await rig.local.command(ref, { do: 'cancel', turn: turn!, settled: true })).count, 0)
  })

  test('are gone with their connection, and a call that ran there is unknown', async () => {
    const rig = makeRig({ script: calling })
    const ref = await start(rig)
    const gone = new Abort()
    const { attached, ended } = attach(
      rig,
      ref,
      item => {
        if (item.type === 'run') gone.abort(new Error('gone'))
        return undefined
      },
      gone.signal,
    )
    await attached
    const [result] = await say(rig, ref)
    assert.equal(result?.[0], 'unknown')
    assert.match(result[1], /went away/)
    await ended
    const { tools } = await rig.local.history(ref, { get: 'request' })
    assert.deepEqual(tools, [])
  })

  test('that got no answer themselves say so, and the call is unknown', async () => {
    const rig = makeRig({ script: calling })
    const ref = await start(rig)
    const { attached } = attach(rig, ref, item =>
      item.type === 'run' ? { run: item.run, error: 'the far end is silent.', unanswered: true } : undefined,
    )
    await attached
    const [result] = await say(rig, ref)
    assert.equal(result?.[0], 'unknown')
    assert.match(result[1], /the far end is silent/)
  })

  test('are detached when the session is lost', async () => {
    const rig = makeRig({ script: calling })
    const ref = await start(rig)
    const { attached, ended } = attach(rig, ref, () => undefined)
    await attached
    await rig.local.remove(ref)
    await ended
  })
})

test('a command names the turn that it started, also if the turn is over before the command is durable', async () => {
  const rig = makeRig({ script: [{ text: 'quick' }] })
  const { store } = rig
  const append = store.append.bind(store)
  store.append = async batch => {
    await new Promise(resolve => setTimeout(resolve, 20))
    return append(batch)
  }
  const ref = await start(rig)
  const { turn } = await rig.local.command(ref, {
    do: 'say',
    wire: 'test',
    parts: [{ type: 'text', text: 'hi' }],
  })
  assert.ok(turn)
})
