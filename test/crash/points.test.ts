// Kills the server at every named crash point, the first and the second time that it is reached (`npm run test:faults -- crash`:
// every time), and lets a client without memory finish the conversation on a new server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crashPoints } from '../../src/engine/ports/index.ts'
import { isLong } from '../faults/scale.ts'
import type { Acked } from './client.ts'
import { crash, inFolder, survive } from './survive.ts'

const mostTimes = isLong ? Number.POSITIVE_INFINITY : 2

describe('the conversation can be finished after a kill', { concurrency: 2 }, () => {
  // The others are reached in messages.test.ts and doubts.test.ts.
  for (const point of crashPoints.filter(name => !/^(?:message|check|undo)-/.test(name)))
    test(`at ${point}`, async () => {
      let reached = 0
      const oneMore = (): Promise<boolean> =>
        inFolder(async folder => {
          const acked: Acked = new Set()
          if (!(await crash(folder, `${point}:${reached + 1}`, [], acked))) return false
          reached += 1
          await survive(folder, acked)
          return reached < mostTimes
        })
      while (await oneMore());
      assert.ok(reached > 0, `${point} was never reached`)
    })
})
