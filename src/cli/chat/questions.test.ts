import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Permission, ToolCall } from '../../client/index.ts'
import type { Event } from '../../language/events.ts'
import { Gone, TurnQuestions, Withdrawn } from './questions.ts'

const call = (toolCallId: string): ToolCall => ({ toolCallId, name: `tool_${toolCallId}`, input: {} })
const at = { v: 1, at: 0 } as const
const requested = (callId: string): Event => ({
  ...at,
  type: 'approval.requested',
  callId,
  argsHash: 'a',
  toolHash: 't',
  rule: 'r',
  reason: 'because',
})
const decided = (callId: string): Event => ({
  ...at,
  type: 'approval.decided',
  callId,
  granted: true,
  by: 'ana',
  argsHash: 'a',
})

/** A person who is asked here answers with the functions in `answers`, by call. */
function rig() {
  const shown: string[] = []
  const answers = new Map<string, (permission: Permission | Error) => void>()
  const questions = new TurnQuestions(
    ({ toolCallId, reason }, withdrawn) => {
      shown.push(`ask ${toolCallId} ${reason ?? ''}`.trim())
      return new Promise((resolve, reject) => {
        answers.set(toolCallId, permission =>
          permission instanceof Error ? reject(permission) : resolve(permission),
        )
        withdrawn.addEventListener('abort', () => {
          shown.push((withdrawn.reason as Error).message)
          reject(withdrawn.reason)
        })
      })
    },
    words => shown.push(words),
  )
  const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
  return { shown, answers, questions, settled }
}

test('a question is put when its call and its event were both seen, and once', async () => {
  const { shown, answers, questions, settled } = rig()
  questions.take(requested('old'))
  questions.take(requested('c1'))
  await settled()
  assert.equal(shown.length, 0)
  questions.called(call('c1'))
  questions.called(call('c2'))
  questions.take(requested('c2'))
  await settled()
  questions.show(() => shown.push('a result'))
  assert.deepEqual(shown, ['ask c1 because'], 'one at a time, and output waits')
  answers.get('c1')?.(true)
  await settled()
  assert.deepEqual(shown, ['ask c1 because', 'a result', 'ask c2 because'])
  answers.get('c2')?.({ granted: false, reason: 'no' })
  assert.equal(await questions.permission(call('c1')), true)
  assert.deepEqual(await questions.permission(call('c2')), { granted: false, reason: 'no' })
  questions.take(requested('c1'))
  await settled()
  assert.equal(shown.length, 3)
})

test('an event that comes after the turn has stopped does not repeat the question', async () => {
  const { shown, answers, questions, settled } = rig()
  questions.called(call('c1'))
  const answer = questions.permission(call('c1'))
  await settled()
  questions.take(requested('c1'))
  answers.get('c1')?.(true)
  assert.equal(await answer, true)
  await settled()
  assert.deepEqual(shown, ['ask c1'])
})

test('a question that was decided elsewhere is taken back, and an answer that was not sent is reported', async () => {
  const { shown, answers, questions, settled } = rig()
  for (const id of ['c1', 'c2']) {
    questions.called(call(id))
    questions.take(requested(id))
  }
  await settled()
  questions.take(decided('c1'))
  await settled()
  const words = (id: string): string => `tool_${id} was allowed elsewhere, by ana.`
  assert.deepEqual(shown, ['ask c1 because', words('c1'), 'ask c2 because'])
  await assert.rejects(questions.permission(call('c1')), Withdrawn)
  answers.get('c2')?.(true)
  await settled()
  questions.take(decided('c2'))
  assert.equal(shown.at(-1), words('c2'))
})

test('after the end of the input no further question is put, and the end of the turn takes open ones back', async () => {
  const gone = rig()
  for (const id of ['c1', 'c2']) {
    gone.questions.called(call(id))
    gone.questions.take(requested(id))
  }
  await gone.settled()
  gone.answers.get('c1')?.(new Gone())
  await assert.rejects(gone.questions.permission(call('c2')), Gone)
  assert.deepEqual(gone.shown, ['ask c1 because'])

  const over = rig()
  over.questions.called(call('c1'))
  over.questions.take(requested('c1'))
  await over.settled()
  await over.questions.end()
  assert.deepEqual(over.shown, ['ask c1 because', 'The turn is over.'])
})

test('the answer for a continued call waits for the event that says why it asks, unless no more events come', async () => {
  const { questions, shown, answers } = rig()
  questions.listen()
  const first = questions.permission(call('c1'))
  await Promise.resolve()
  assert.deepEqual(shown, [])
  questions.take(requested('c1'))
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(shown, ['ask c1 because'])
  answers.get('c1')?.(true)
  assert.equal(await first, true)
  const second = questions.permission(call('c2'))
  questions.silent()
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual(shown, ['ask c1 because', 'ask c2'])
  answers.get('c2')?.(false)
  assert.equal(await second, false)
})
