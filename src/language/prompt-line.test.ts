import assert from 'node:assert/strict'
import test from 'node:test'
import { promptParts, readPromptLine } from './prompt-line.ts'

const review = {
  server: 'git',
  name: 'review',
  arguments: [{ name: 'file', required: true }, { name: 'tone' }],
}
const plan = { server: 'git', name: 'plan', arguments: [{ name: 'goal', required: true }] }

test('a line names a prompt of a server, with its arguments', () => {
  assert.deepEqual(readPromptLine('/git:review file=a.ts tone="very \\"kind\\""', [review]), {
    server: 'git',
    name: 'review',
    values: { file: 'a.ts', tone: 'very "kind"' },
  })
  assert.deepEqual(readPromptLine('/git:plan ship it on Friday', [plan])?.values, {
    goal: 'ship it on Friday',
  })
  assert.equal(readPromptLine('/git:other', [plan]), undefined)
  assert.equal(readPromptLine('hello', [plan]), undefined)
})

test('an argument that is missing is named', () => {
  assert.throws(
    () => readPromptLine('/git:review tone=kind', [review]),
    /needs file\. Write: \/git:review file=… tone=…/,
  )
})

test('what a prompt has the assistant say is quoted in the message', () => {
  const parts = promptParts([
    { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
    { role: 'assistant', parts: [{ type: 'text', text: 'Yes?' }] },
  ])
  assert.deepEqual(parts, [
    { type: 'text', text: 'Hi' },
    { type: 'text', text: '[Assistant] Yes?' },
  ])
})

test('an argument named as a member of every object is data', () => {
  const odd = { server: 's', name: 'p', arguments: [{ name: '__proto__' }, { name: 'b' }] }
  const values = readPromptLine('/s:p __proto__=x', [odd])?.values ?? {}
  assert.equal(Object.getPrototypeOf(values), Object.prototype)
  assert.deepEqual(Object.entries(values), [['__proto__', 'x']])
})
