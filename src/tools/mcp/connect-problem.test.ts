import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectProblem } from './connect-problem.ts'

const failed = (message: string, cause?: unknown, code?: string): Error =>
  Object.assign(new Error(message, { cause }), code !== undefined && { code })

test('a program that is not there, and an address without an answer, are told as what they are', () => {
  const program = failed('spawn npxx ENOENT', undefined, 'ENOENT')
  assert.equal(
    connectProblem(program, { name: 'a', command: 'npxx' }),
    'The program "npxx" was not found. Install it, or give its whole path.',
  )
  const refused = failed('connect', undefined, 'ECONNREFUSED')
  const probe = failed('Version negotiation probe failed: fetch failed', failed('fetch failed', refused))
  const spec = { name: 'b', url: 'http://127.0.0.1:9/mcp?key=secret' }
  assert.equal(connectProblem(probe, spec), 'No answer from http://127.0.0.1:9/mcp: ECONNREFUSED.')
  assert.equal(
    connectProblem(failed('fetch failed', failed('bad port')), spec),
    'No answer from http://127.0.0.1:9/mcp: bad port.',
  )
})

test('anything else is told in its own words, also an error that is its own cause', () => {
  const own = failed('Unauthorized')
  own.cause = own
  assert.equal(connectProblem(own, { name: 'b', url: 'http://127.0.0.1:9/mcp' }), 'Unauthorized')
  assert.equal(connectProblem(undefined, { name: 'a', command: 'x' }), 'undefined')
})
