// One thing of a recorded session is changed at one of its events: up to there the log answers, from there on the model. No tool runs.
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { scripted, Turnwire, type TurnwireConfig, tool } from '../../src/index.ts'
import type { Recorded } from '../../src/language/events.ts'
import type { Script } from '../../src/models/scripted/index.ts'
import { type ChangeToTry, type ReplayReport, readRecording, tryChange } from '../../src/replay/index.ts'

const input = { type: 'object', properties: { order: { type: 'number' } } }
let ran = 0
const look = tool({
  name: 'look',
  description: 'Looks an order up.',
  input,
  readOnly: true,
  trust: 'trusted',
  run: () => {
    ran += 1
    return 'packed'
  },
})
const refund = tool({
  name: 'refund',
  description: 'Refunds an order.',
  input,
  run: () => {
    ran += 1
    return 'refunded'
  },
})

/** Looks, refunds what is packed, and says what came of it. */
const clerk: Script = ({ history }) => {
  const last = history.at(-1)
  if (last?.role === 'user') return { calls: [{ name: 'look', input: { order: 17 } }] }
  const said = JSON.stringify(last)
  if (said.includes('packed')) return { calls: [{ name: 'refund', input: { order: 17 } }] }
  return { text: said.includes('refunded') ? 'It is refunded.' : 'It is not refunded.' }
}

const config = {
  data: 'memory',
  models: { terse: scripted(() => ({ text: 'No.' })) },
  agents: [{ name: 'clerk', model: scripted(clerk), system: 'Be kind.', tools: [look, refund] }],
} satisfies TurnwireConfig

describe('one thing that is changed', () => {
  let id = ''
  const log: Recorded[] = []
  const seqOf = (type: string, nth = 0): number =>
    log.filter(({ event }) => event.type === type)[nth]?.seq ?? assert.fail(`no ${type}`)
  const callOf = (name: string): string => {
    for (const { event } of log)
      if (event.type === 'model.answered')
        for (const part of event.parts) if (part.type === 'call' && part.name === name) return part.id
    return assert.fail(`no call of ${name}`)
  }

  before(async () => {
    const turnwire = await Turnwire.open(config)
    const session = await turnwire.session('clerk')
    const reply = await session.send('Refund my order 17.')
    assert.equal(reply.status, 'waiting')
    await session.approve((await session.pending())[0]?.callId ?? '', { by: 'maria' })
    for await (const item of session.watch({ until: 'stop' })) if (item.type === 'event') log.push(item)
    id = session.id
    await turnwire.close()
    ran = 0
  })

  const play = async (change: ChangeToTry, options = {}): Promise<ReplayReport & { said: string }> => {
    const report = await tryChange(readRecording(id, log), config, change, options)
    assert.equal(ran, 0, 'no tool ran')
    const answers = report.log.filter(event => event.type === 'model.answered')
    return { ...report, said: JSON.stringify(answers.at(-1)?.parts) }
  }

  test('a result: the model is asked what it would have done with it', async () => {
    const result = { callId: callOf('look'), text: 'It was never sent.' }
    const { left, said, then, now, differences } = await play({ at: 1, result })
    assert.equal(left?.why, 'The result of look was changed.')
    assert.equal(left?.seq, seqOf('call.settled'))
    assert.match(said, /It is not refunded/)
    assert.deepEqual([then.steps, now.steps, then.asked, now.asked], [3, 2, 1, 0])
    assert.deepEqual(differences, [])
  })

  test('a result that is a failure changes the outcome', async () => {
    const result = { callId: callOf('refund'), text: 'The bank is closed.', failed: true }
    const { log: played, said } = await play({ at: 1, result })
    const settled = played.filter(event => event.type === 'call.settled')
    assert.deepEqual(
      settled.map(({ outcome }) => outcome.kind),
      ['ok', 'error'],
    )
    assert.match(said, /It is not refunded/)
  })

  test('a model: it is asked from that event on, and what was before it stays', async () => {
    const late = await play({ at: seqOf('call.settled', 1), model: 'terse' })
    assert.equal(late.left?.why, 'From here on another model is asked.')
    assert.match(late.said, /No\./)
    assert.equal(late.now.steps, 3)
    const early = await play({ at: seqOf('turn.started'), model: 'terse' })
    assert.equal(early.now.steps, 1)
    await assert.rejects(play({ at: 2, model: 'none' }), /no model named "none"/)
  })

  test('a rule: verdicts before the event stay, those after it are judged by it', async () => {
    const rules = '- { tool: refund, then: deny, reason: Not today. }\n- { tool: look, then: ask }'
    const whole = await play({ at: 1, rules })
    assert.deepEqual(
      whole.differences.filter(({ about }) => about === 'verdict').map(({ text }) => text),
      [
        'look ran unasked (operator-trust). Now: asked (tried[1]).',
        'refund asked (operator-trust). Now: denied (tried[0]). maria had allowed it.',
      ],
    )
    assert.match(whole.said, /It is not refunded/)
    const late = await play({ at: seqOf('model.answered', 1), rules })
    assert.deepEqual(
      late.differences.filter(({ about }) => about === 'verdict').map(({ seq }) => seq),
      [seqOf('call.settled', 1)],
    )
  })

  test('a rule that changes nothing leaves the recorded way as it is, and asks no model', async () => {
    const silent = { ...config, agents: [{ ...config.agents[0]!, model: scripted([]) }] }
    const report = await tryChange(readRecording(id, log), silent, {
      at: 1,
      rules: '- { tool: pay, then: deny }',
    })
    assert.deepEqual([report.differences, report.left], [[], undefined])
    assert.deepEqual(report.now, report.then)
  })

  test('instructions: the requests differ from that event on, and the recorded answers still hold', async () => {
    const report = await play({ at: seqOf('call.settled'), system: 'Be quick.' })
    assert.equal(report.left, undefined)
    assert.match(report.said, /It is refunded/)
  })

  test('what cannot be changed is refused in words', async () => {
    await assert.rejects(
      play({ at: 1, result: { callId: 'call_x', text: '' } }),
      /no result of a call "call_x"/,
    )
    await assert.rejects(play({ at: 1, rules: '- { tool: pay, then: perhaps }' }), /"allow", "ask" or "deny"/)
  })

  test('a model that never answers is given up when the signal says so', async () => {
    const hung = { ...config, models: { terse: scripted([{ hang: true }]) } }
    const stop = new AbortController()
    const played = tryChange(readRecording(id, log), hung, { at: 2, model: 'terse' }, { signal: stop.signal })
    setImmediate(() => stop.abort(new Error('It is over.')))
    await assert.rejects(played, /It is over/)
  })
})
