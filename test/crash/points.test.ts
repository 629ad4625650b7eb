// Kills the server at every named crash point, at the first times that it is reached, and lets a client without memory
// finish the conversation on a new server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crashPoints } from '../../src/engine/ports.ts'
import { crash, inFolder, survive } from './survive.ts'

const mostTimes = 3

describe('the conversation can be finished after a kill', { concurrency: 2 }, () => {
  for (const point of crashPoints)
    test(`at ${point}`, async () => {
      let reached = 0
      const oneMore = (): Promise<boolean> =>
        inFolder(async folder => {
          if (!(await crash(folder, `${point}:${reached + 1}`))) return false
          reached += 1
          await survive(folder)
          return reached < mostTimes
        })
      while (await oneMore());
      assert.ok(reached > 0, `${point} was never reached`)
    })
})
