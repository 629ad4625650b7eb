import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionCall } from '../../engine/index.ts'
import { encodeCallQuestion, encodeQuestion } from './encode.ts'

const messageOf = ({ params }: { params?: unknown }): string => (params as { message: string }).message

test('a question about a call says what is easy to misread, and no argument poses as another line of it', () => {
  const text = 'ls\nReason: harmless \u202efdp.exe p\u0430ypal'
  const call = {
    part: { type: 'call', id: 'c', name: 'run', form: 'text', text },
    text,
  } as unknown as SessionCall // what is read of it
  const message = messageOf(encodeQuestion(call))
  assert.match(message, /\n1 hidden or control characters: U\+202E\.\n/)
  assert.match(message, /mixes letters of several alphabets/)
  assert.match(message, /\nArguments: ls\\nReason: harmless \\u202efdp\.exe p\u0430ypal$/)
})

test('a question of a tool does too, in its words and its address', () => {
  const asked = { id: 'q', key: 'q', message: 'Sign in', url: 'https://p\u0430ypal.com/' }
  assert.match(messageOf(encodeCallQuestion(asked)), /^Sign in\n“p\u0430ypal\.com” mixes/)
  assert.equal(messageOf(encodeCallQuestion({ ...asked, url: 'https://paypal.com/' })), 'Sign in')
})
