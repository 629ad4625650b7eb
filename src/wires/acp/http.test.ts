// What the SDK prints of connections that it closes goes to the log of the server, which has a form of its own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acpHttp } from './http.ts'

test('lines of the SDK go to the log, and other lines are printed', async t => {
  const printed: string[] = []
  for (const name of ['warn', 'error'] as const)
    t.mock.method(console, name, (...words: unknown[]) => void printed.push(words.join(' ')))
  const logged: string[] = []
  const limits = { bodyBytes: 1_000, jsonDepth: 64, heartbeatMs: 0, unsentBytes: 1_000 }
  const { close } = acpHttp(
    () => assert.fail('no connection is made'),
    limits,
    (level, message, fields) => void logged.push(`${level} ${message} ${JSON.stringify(fields)}`),
  )
  console.warn('Closing ACP connection c1:', 'too much is buffered')
  console.error('ACP connection c2 router stopped unexpectedly:', new Error('broken'))
  console.warn('something else')
  assert.deepEqual(printed, ['something else'])
  assert.equal(logged.length, 2)
  assert.match(logged[0] ?? '', /^warn A connection of ACP was closed\. .*c1: too much is buffered/)
  await close()
})
