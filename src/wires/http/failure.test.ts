// The headers that tell a client whether, and when, to send its request again.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorCode } from '../../language/errors.ts'
import type { WireEnv } from '../host.ts'
import { setRetryHeaders } from './failure.ts'

function headersFor(code: ErrorCode, retryAfterMs?: number): Map<string, unknown> {
  const headers = new Map<string, unknown>()
  const outgoing = { setHeader: (name: string, value: unknown) => headers.set(name, value) }
  // Only its headers are set.
  setRetryHeaders({ outgoing } as unknown as WireEnv['Bindings'], { code, retryAfterMs })
  return headers
}

test('a failure that passes says when to try again, also where no time was given', () => {
  for (const code of ['store_failed', 'store_locked', 'lease_lost', 'moved', 'stopping'] as const)
    assert.equal(headersFor(code).get('retry-after'), '1', code)
  assert.equal(headersFor('store_full').get('retry-after'), '10')
  assert.equal(headersFor('stopping', 2_500).get('retry-after'), '3')
  assert.equal(headersFor('bad_request').get('retry-after'), undefined)
})
