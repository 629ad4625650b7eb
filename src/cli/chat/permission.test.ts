import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../lib/json/index.ts'
import { styles } from '../style.ts'
import { askPermission } from './permission.ts'
import type { Terminal } from './terminal.ts'

/** What a person is shown before an answer. `answers`: what the person types, then nothing more. */
async function shown(input: JsonObject, answers: string[] = []): Promise<string> {
  let written = ''
  const lines = [...answers]
  const terminal = {
    write: (text: string) => {
      written += text
    },
    ask: () => Promise.resolve(lines.shift()),
  } as Pick<Terminal, 'write' | 'ask'> as Terminal // It uses these two.
  const call = { toolCallId: 'call_1', name: 'shell', input }
  await askPermission(call, terminal, styles(false), new AbortController().signal)
  return written
}

const short = Object.fromEntries(Array.from({ length: 15 }, (_, at) => [`flag${at}`, 'on']))

test('the end of a long argument is in sight, however many others there are', async () => {
  const command = `ls -l ${'/very/long/path '.repeat(40)}; rm -rf EVERYTHING`
  for (const input of [{ command, ...short }, { ...short, command }, { command }]) {
    const text = await shown(input)
    assert.ok(text.includes('; rm -rf EVERYTHING\n'), text)
    assert.match(text, /command +ls -l /)
  }
  const long = `ls ${'x'.repeat(10_000)}; rm -rf EVERYTHING`
  const text = await shown({ ...short, command: long, other: 'y'.repeat(10_000) })
  assert.match(text, /command +ls x+ \[…\d,\d{3} characters…\] x+; rm -rf EVERYTHING\n/)
  assert.match(text, /! \/command has 10,022 characters\. Its beginning and its end are shown\./)
  assert.ok((await shown({ command: long }, ['v'])).includes(long), 'all of it can be shown')
})

test('many long arguments each show both ends', async () => {
  const input = Object.fromEntries(
    Array.from({ length: 40 }, (_, at) => [`part${at}`, `BEGIN${at} ${'z'.repeat(500)} END${at}`]),
  )
  const text = await shown(input)
  for (let at = 0; at < 40; at += 1)
    assert.match(text, new RegExp(`BEGIN${at} z+ \\[…[\\d,]+ characters…\\] z+ END${at}\n`))
})

test('hidden characters, other directions and mixed alphabets are pointed out', async () => {
  const text = await shown({ to: 'invoice\u202efdp.exe', host: 'p\u0430ypal.com', note: 'a\u009bb' })
  assert.match(text, /! 2 hidden or control characters: U\+202E, U\+009B\./)
  assert.match(text, /! Some of them change the direction of text/)
  assert.match(text, /! “p\u0430ypal\.com” mixes letters of several alphabets/)
  assert.ok(text.includes('invoice\\u202efdp.exe'))
  const edited = await shown({ to: 'ana' }, ['e', '{"to":"\\u202eana"}'])
  assert.match(edited, /! 1 hidden or control characters: U\+202E/)
})

test('a call whose time is over can only be rejected, and is said to be', async () => {
  let written = ''
  const lines = ['y', 'e', 'n', 'too late']
  const terminal = {
    write: (text: string) => {
      written += text
    },
    ask: (prompt: string) => {
      written += prompt
      return Promise.resolve(lines.shift())
    },
  } as Pick<Terminal, 'write' | 'ask'> as Terminal // It uses these two.
  const call = { toolCallId: 'call_1', name: 'shell', input: {}, expiresAt: 1 }
  const answer = await askPermission(call, terminal, styles(false), new AbortController().signal)
  assert.deepEqual(answer, { permission: { granted: false, reason: 'too late' } })
  assert.match(written, /The time for an answer is over\. It can only be rejected\./)
  assert.doesNotMatch(written, /Allow it\?/)
})
