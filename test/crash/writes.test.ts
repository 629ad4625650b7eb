// Kills the server in the middle of a write to its database, at a few of all the writes that a conversation makes. The
// kernel delivers the signal when the n-th pwrite64 returns, so the place does not depend on our code.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { crash, inFolder, survive } from './survive.ts'

const works =
  spawnSync('strace', ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64', 'true']).status === 0
const places = 6

function strace(folder: string, ...inject: string[]): string[] {
  return ['strace', '-f', '-qq', '-o', join(folder, 'strace'), '-e', 'trace=pwrite64', ...inject]
}

/** strace counts the calls of each thread by itself. */
function mostOfOneThread(trace: string): number {
  const calls = new Map<string, number>()
  for (const [, thread = ''] of trace.matchAll(/^(\d+) +pwrite64\(/gm))
    calls.set(thread, (calls.get(thread) ?? 0) + 1)
  return Math.max(...calls.values())
}

test('the conversation can be finished after a kill in the middle of a database write', {
  skip: works ? false : 'strace is not installed, or may not trace here',
}, async () => {
  const writes = await inFolder(async folder => {
    assert.equal(await crash(folder, undefined, strace(folder)), false)
    return mostOfOneThread(readFileSync(join(folder, 'strace'), 'utf8'))
  })
  assert.ok(writes > places, `only ${writes} writes were seen`)
  for (let place = 0; place < places; place += 1) {
    const at = 1 + Math.floor((place * (writes - 1)) / places)
    await inFolder(async folder => {
      const died = await crash(
        folder,
        undefined,
        strace(folder, '-e', `inject=pwrite64:signal=KILL:when=${at}`),
      )
      assert.ok(died, `write ${at} of ${writes} was never reached`)
      await survive(folder)
    })
  }
})
