import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IdleMap } from './idle-map.ts'

describe('a map of what is in use', () => {
  it('gives the same value while it is kept, and drops idle ones when it is full', () => {
    const map = new IdleMap(key => ({ key, isIdle: key !== 'busy' }), 100)
    const busy = map.of('busy')
    for (let index = 0; index < 10_000; index++) map.of(`key ${index}`)
    assert.ok(map.size <= 101, `${map.size}`)
    assert.equal(map.of('busy'), busy)
  })

  it('values in use stay, and are not looked through at every turn', () => {
    let looks = 0
    const busy = {
      get isIdle() {
        looks += 1
        return false
      },
    }
    const map = new IdleMap(() => busy, 100)
    for (let index = 0; index < 10_000; index++) map.of(`key ${index}`)
    assert.equal(map.size, 10_000)
    assert.ok(looks < 30_000, `${looks}`)
  })
})
