// A tool choice, and one call at a time, hold for every model: also for a Model of one's own that heeds neither.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Model, ModelRequest, OnceAnswer, Session } from '../../src/engine/index.ts'
import type { Ask } from '../../src/language/events.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, owner, stopAll, until } from './rig.ts'

after(stopAll)

const input = { type: 'object', properties: { n: { type: 'integer' } } } as const
const makeTool = (name: string, more: object = {}) =>
  tool({ name, description: name, input, trust: 'trusted', run: () => `${name} ran`, ...more })
const tools = [makeTool('read'), makeTool('write')]
const call = (name: string, n = 1) => ({ name, input: { n } })

type Step = { text?: string; calls?: ReturnType<typeof call>[] }

/** A model that gives these answers in turn, whatever it is asked. */
function disobedient(steps: readonly Step[]): { model: Model; requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  const model = scripted(request => {
    requests.push(request)
    return steps[requests.length - 1] ?? { text: 'Done.' }
  })
  return { model, requests }
}

const tell = (session: Session, ask: Ask) =>
  until(session, () => session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test', ask }))

function ranIn(session: Session): string[] {
  return session.state.entries.flatMap(entry =>
    entry.role === 'tool' ? entry.results.map(({ name }) => name) : [],
  )
}

async function play(steps: readonly Step[], ask: Ask) {
  const { model, requests } = disobedient(steps)
  const session = await begin(makeRig({ model, tools }))
  const items = await tell(session, ask)
  const shown = items.flatMap(item =>
    item.type === 'delta' && item.delta.type === 'call.opened' ? [item.delta.name] : [],
  )
  return { session, requests, shown }
}

describe('in a session', () => {
  test('no call is made where none may be', async () => {
    const { session, requests, shown } = await play([{ calls: [call('read')] }, { text: 'In words.' }], {
      choice: 'none',
    })
    assert.deepEqual([ranIn(session), shown, requests.length], [[], [], 2])
    assert.equal(session.state.lastStop?.stop, 'end')
  })

  test('a call that is demanded is asked for until it is made', async () => {
    const { session, requests } = await play([{ text: 'No.' }, { calls: [call('read')] }], {
      choice: 'required',
    })
    assert.deepEqual([ranIn(session), requests.length], [['read'], 3])
    assert.match(JSON.stringify(requests[1]?.history.at(-1)), /A tool had to be called/)
  })

  test('only the named tool is called', async () => {
    const { session, shown } = await play([{ calls: [call('write'), call('read')] }], {
      choice: { tool: 'read' },
    })
    assert.deepEqual([ranIn(session), shown], [['read'], ['read']])
  })

  test('a demand that is never met ends the turn with the cause', async () => {
    const { session, requests } = await play([{ text: 'a' }, { text: 'b' }, { text: 'c' }], {
      choice: 'required',
    })
    assert.equal(session.state.lastStop?.error?.code, 'model_failed')
    assert.match(session.state.lastStop.error.message, /A tool had to be called/)
    assert.equal(requests.length, 3)
  })

  test('of several calls the first is taken where one at a time is allowed', async () => {
    const { session, shown } = await play([{ calls: [call('read'), call('write'), call('read', 2)] }], {
      parallel: false,
    })
    assert.deepEqual([ranIn(session), shown], [['read'], ['read']])
  })
})

test('a tool that only programs may call cannot be demanded, and the cause is told without asking the model', async () => {
  const { model, requests } = disobedient([])
  const named: Model = { ...model, programs: true }
  const rig = makeRig({ model: named, tools: [makeTool('inner', { callers: ['code'] })] })
  const session = await begin(rig)
  await tell(session, { choice: { tool: 'inner' } })
  assert.match(session.state.lastStop?.error?.message ?? '', /"inner", which only programs may call/)
  assert.equal(requests.length, 0)
})

test('one answer without a session keeps to the same', async () => {
  const { model, requests } = disobedient([{ calls: [call('read')] }, { text: 'In words.' }])
  const rig = makeRig({ model })
  const clientTools = [
    {
      name: 'read',
      description: 'r',
      input: { form: 'json' as const, schema: input },
      kind: 'read' as const,
      readOnly: true,
      idempotent: true,
      destructive: false,
      side: 'client' as const,
    },
  ]
  const history = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'go' }] }]
  const ask = { choice: 'none' as const }
  const request = { owner, agent: 'helper', history, clientTools, ask, deltas: 'raw' as const }
  const answers: OnceAnswer[] = []
  for await (const items of rig.local.answerOnce(request))
    for (const item of items) if (item.type === 'answer') answers.push(item.answer)
  assert.deepEqual(answers[0]?.parts, [{ type: 'text', text: 'In words.' }])
  assert.equal(requests.length, 2)
})
