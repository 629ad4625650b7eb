// Kills the server in the middle of a write to its database, at a few of all the writes that a conversation makes, and in a
// long run at each of them. The kernel delivers the signal when the n-th call returns, so the place does not depend on our
// code.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { places } from '../faults/scale.ts'
import { callsTraced, noStrace, type SystemCall, tracing } from '../faults/strace.ts'
import type { Acked } from './client.ts'
import { crash, inFolder, survive } from './survive.ts'

const few = { pwrite64: 4, fsync: 2 } satisfies Record<SystemCall, number>

describe('the conversation can be finished after a kill', { skip: noStrace }, () => {
  for (const call of ['pwrite64', 'fsync'] as const)
    test(`in the middle of a ${call} of the database`, async t => {
      const calls = await inFolder(async folder => {
        assert.equal(await crash(folder, undefined, tracing(folder, call)), false)
        return callsTraced(folder, call)
      })
      assert.ok(calls > few[call], `only ${calls} calls were seen`)
      let missed = 0
      for (const at of places(calls, few[call]))
        await inFolder(async folder => {
          const acked: Acked = new Set()
          const wrap = tracing(folder, call, `signal=KILL:when=${at}`)
          // How writes are divided among threads differs from run to run, so the last of them may not be reached.
          if (!(await crash(folder, undefined, wrap, acked))) missed += 1
          await survive(folder, acked)
        })
      t.diagnostic(`${calls} calls, ${missed} places not reached`)
      assert.ok(missed <= Math.ceil(calls / 4), `${missed} of ${calls} places were never reached`)
    })
})
