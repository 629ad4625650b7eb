// A message that is said anew under its request key: what the model reads goes back, the log does not.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { fold, type RequestKey, type Session } from '../../src/engine/index.ts'
import { joinText } from '../../src/language/content.ts'
import type { Entry } from '../../src/language/history.ts'
import { begin, makeRig, owner, type Rig, stopAll, typesOf, until } from './rig.ts'

after(stopAll)

const request = (key: string, hash: string, over: Partial<RequestKey> = {}): RequestKey => ({
  key,
  hash,
  retry: true,
  again: 'changed',
  ...over,
})

async function tell(rig: Rig, session: Session, text: string, key: RequestKey): Promise<void> {
  const ref = { owner, session: session.id }
  const parts = [{ type: 'text' as const, text }]
  await until(session, () => rig.local.command(ref, { do: 'say', wire: 'test', parts, request: key }))
}

function shown(entries: readonly Entry[]): string[] {
  return entries.map(entry =>
    entry.role === 'user' || entry.role === 'assistant'
      ? entry.parts.map(part => (part.type === 'text' ? part.text : part.type)).join('')
      : entry.role,
  )
}

/** Answers with what it was told last. */
function echo(): Rig {
  return makeRig({
    script: ({ history }) => {
      const last = history.at(-1)
      return { text: `re ${last?.role === 'user' ? joinText(last.parts) : ''}` }
    },
    agent: { compaction: { afterTokens: 1_000_000, keepEntries: 2 } },
  })
}

test('the model reads the new message in place of the old one and of all that followed', async () => {
  const rig = echo()
  const session = await begin(rig)
  for (const word of ['a', 'b', 'c']) await tell(rig, session, word, request(word, word))
  await tell(rig, session, 'B', request('b', 'B'))
  assert.deepEqual(shown(session.state.view), ['a', 're a', 'B', 're B'])
  assert.deepEqual(shown(session.state.entries), ['a', 're a', 'b', 're b', 'c', 're c', 'B', 're B'])
  const folded = fold(session.id, await rig.store.read(session.id))
  assert.deepEqual(folded.view, session.state.view)
})

test('the same message under the same key is given again, unless it is to be said anew always', async () => {
  const rig = echo()
  const session = await begin(rig)
  await tell(rig, session, 'a', request('a', 'a'))
  const { seq } = session.state
  const ref = { owner, session: session.id }
  const parts = [{ type: 'text' as const, text: 'a' }]
  const again = await rig.local.command(ref, { do: 'say', wire: 'test', parts, request: request('a', 'a') })
  assert.equal(again.replayed, true)
  assert.equal(session.state.seq, seq)
  await tell(rig, session, 'a', request('a', 'a', { again: 'always' }))
  await tell(rig, session, 'a', request('a', 'a', { again: 'always' }))
  assert.deepEqual(shown(session.state.view), ['a', 're a'])
})

test('a message from before a summary brings back what the model read then', async () => {
  const rig = echo()
  const session = await begin(rig)
  for (const word of ['a', 'b', 'c']) await tell(rig, session, word, request(word, word))
  await rig.local.command({ owner, session: session.id }, { do: 'compact' })
  assert.ok((await typesOf(rig, session)).includes('history.compacted'))
  await tell(rig, session, 'C', request('c', 'C'))
  assert.deepEqual(shown(session.state.view), ['a', 're a', 'b', 're b', 'C', 're C'])
})

test('without `again`, another message under a used key is refused', async () => {
  const rig = echo()
  const session = await begin(rig)
  await tell(rig, session, 'a', request('a', 'a'))
  await assert.rejects(
    rig.local.command(
      { owner, session: session.id },
      {
        do: 'say',
        wire: 'test',
        parts: [{ type: 'text', text: 'b' }],
        request: { key: 'a', hash: 'b', retry: true },
      },
    ),
    { code: 'idempotency_conflict' },
  )
})
