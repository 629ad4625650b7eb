// What the user can do with a chat besides sending: stop an answer, have it made again, change a message. With the AI SDK's
// own chat, which does the same as `useChat`.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/lib/json/index.ts'
import { type Rig, rig, until } from '../rig.ts'
import { Chat, shown } from './client.ts'

const last = (chat: Chat): string[] => shown(chat.messages.at(-1)!)

/** The first answer calls a tool that waits; later ones say how the history looks. */
function slowOnce(): NonNullable<Parameters<typeof rig>[1]> {
  let asked = 0
  return {
    script: ({ history }) => {
      asked += 1
      return asked === 1
        ? { text: 'Wait. ', calls: [{ name: 'slow' }] }
        : { text: history.map(({ role }) => role).join(' ') }
    },
  }
}

async function stopped(at: Rig, chat: Chat): Promise<void> {
  const sending = chat.sendMessage({ text: 'go' })
  await until(() => at.runs.length === 1 && chat.types.includes('tool-input-available'))
  await Promise.all([chat.stop(), sending])
}

const stopOf = async (at: Rig, chat: Chat) => {
  const id = chat.answers.find(answer => answer.headers.has('x-session-id'))!.headers.get('x-session-id')!
  return (await at.sessions.peek('alice', id)).lastStop?.stop
}

test('stop ends the turn', async t => {
  const at = await rig(t, slowOnce())
  const chat = new Chat(at)
  await stopped(at, chat)
  await until(async () => (await stopOf(at, chat)) === 'cancelled')
})

test('after stop the next message is taken at once', async t => {
  const errors: string[] = []
  const at = await rig(t, slowOnce())
  const chat = new Chat(at, { onError: error => errors.push(error.message) })
  await stopped(at, chat)
  await chat.sendMessage({ text: 'and now?' })
  assert.deepEqual(errors, [])
  assert.deepEqual(last(chat), ['text: user assistant tool user'])
})

test('a stopped answer is made again', async t => {
  const at = await rig(t, slowOnce())
  const chat = new Chat(at)
  await stopped(at, chat)
  await chat.regenerate()
  assert.equal(chat.messages.length, 2)
  assert.deepEqual(last(chat), ['text: user'])
})

test('an answer is made again as often as the user likes, and the model does not read those before', async t => {
  const read: string[] = []
  const at = await rig(t, {
    script: ({ history }) => {
      read.push(history.map(({ role }) => role).join(' '))
      return { text: `answer ${read.length}` }
    },
  })
  const chat = new Chat(at, { id: 'anew' })
  await chat.sendMessage({ text: 'one' })
  await chat.sendMessage({ text: 'two' })
  await chat.regenerate()
  await chat.regenerate()
  await chat.sendMessage({ text: 'three' })
  // An answer in the middle: what followed it is gone for the model too.
  await chat.regenerate({ messageId: chat.messages[1]!.id })
  assert.deepEqual(read, [
    'user',
    'user assistant user',
    'user assistant user',
    'user assistant user',
    'user assistant user assistant user',
    'user',
  ])
  assert.deepEqual(
    chat.messages.map(message => shown(message)),
    [['text: one'], ['text: answer 6']],
  )
  const again = await at.restart()
  const later = new Chat(again, { id: 'anew', messages: chat.messages })
  await later.sendMessage({ text: 'four' })
  assert.equal(read.at(-1), 'user assistant user')
})

test('a message that the user changes is said anew', async t => {
  const said: (JsonObject | undefined)[] = []
  const at = await rig(t, {
    script: ({ history }) => {
      const entry = history.at(-1)
      const [part] = entry?.role === 'user' ? entry.parts : []
      said.push({ entries: history.length, text: part?.type === 'text' ? part.text : null })
      return { text: 'ok' }
    },
  })
  const chat = new Chat(at)
  await chat.sendMessage({ text: 'one' })
  await chat.sendMessage({ text: 'two' })
  await chat.sendMessage({ text: 'one, I mean', messageId: chat.messages[0]!.id })
  assert.deepEqual(said, [
    { entries: 1, text: 'one' },
    { entries: 3, text: 'two' },
    { entries: 1, text: 'one, I mean' },
  ])
  assert.equal(chat.messages.length, 2)
})

test('a message that was sent while calls waited is said anew with their results', async t => {
  const read: string[][] = []
  const at = await rig(t, {
    script: ({ history }) => {
      read.push(history.map(({ role }) => role))
      return read.length === 1 ? { calls: [{ name: 'mail', input: { to: 'ana' } }] } : { text: 'ok' }
    },
  })
  const chat = new Chat(at)
  await chat.sendMessage({ text: 'mail her' })
  await chat.sendMessage({ text: 'no, wait' })
  await chat.regenerate()
  assert.deepEqual(read[2], ['user', 'assistant', 'tool', 'user'])
  assert.deepEqual(read[2], read[1])
})

test('a client that resumes only leaves: its turn goes on, and its next message ends it', async t => {
  const errors: string[] = []
  const at = await rig(t, slowOnce())
  const chat = new Chat(at, { id: 'resumes', onError: error => errors.push(error.message) })
  await chat.resumeStream() // as `useChat({ resume: true })` does when it is mounted
  await stopped(at, chat)
  const answer = await at.request('GET', '/ui/helper/resumes/stream')
  assert.equal(answer.status, 200)
  await answer.body?.cancel()
  await chat.sendMessage({ text: 'and now?' })
  assert.deepEqual(errors, [])
  assert.deepEqual(last(chat), ['text: user assistant tool user'])
})

test('a client that resumed once is known after a restart', async t => {
  const first = await rig(t, slowOnce())
  const early = new Chat(first, { id: 'kept' })
  await early.resumeStream()
  const sending = early.sendMessage({ text: 'go' }).catch(() => {})
  await until(() => first.runs.length === 1 && early.messages.length === 2)
  const at = await first.restart()
  await sending
  await until(() => at.runs.length === 1)
  at.release()
  const id = early.answers[1]!.headers.get('x-session-id')!
  await until(async () => (await at.sessions.peek('alice', id)).turn === null)
  assert.equal(await at.store.blob(id, 'ui-resumed'), 'resumed')
})

test('a turn that another page still reads is not ended by a message', async t => {
  const errors: string[] = []
  const at = await rig(t, slowOnce())
  const one = new Chat(at, { id: 'two-pages' })
  const sending = one.sendMessage({ text: 'go' })
  await until(() => at.runs.length === 1 && one.messages.length === 2)
  const other = new Chat(at, {
    id: 'two-pages',
    messages: structuredClone(one.messages),
    onError: error => errors.push(error.message),
  })
  await other.sendMessage({ text: 'me too' })
  assert.match(errors[0]!, /A turn is running/)
  at.release()
  await sending
  assert.equal(await stopOf(at, one), 'end')
})
