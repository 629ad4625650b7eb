// A network that loses the packets of one direction, at the level of TCP (fault K9): the server does not keep a stream or a
// socket for ever, whichever side has gone silent.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { inNamespace, noNamespace } from './network.ts'

test('a connection that is cut in one direction is given up, and its place is free again', {
  skip: noNamespace,
}, async t => {
  const out = await inNamespace(t, join(import.meta.dirname, 'one-way-cut.ts'))
  assert.equal(out.match(/: given up$/gm)?.length, 6, out)
  t.diagnostic(out)
})
