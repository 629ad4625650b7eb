// Which readers an owner loses, and which answers wait, when what nobody reads takes too much memory.
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { type Held, UnsentBytes } from './unsent.ts'

const MiB = 1024 * 1024
const answer = (bytes: number): Held => ({ bytes })

/** A writer that says what it is told to say. */
function standIn(blockedMs: number) {
  const writer = {
    unsent: 0,
    blockedMs,
    dropped: false,
    drop: (): void => {
      writer.dropped = true
    },
  }
  return writer
}

test('an answer waits until its owner has room, and another owner does not wait for it', async () => {
  const unsent = new UnsentBytes()
  const first = await unsent.admit('eve', answer(60 * MiB))
  let isAdmitted = false
  const second = unsent.admit('eve', answer(10 * MiB)).then(reader => {
    isAdmitted = true
    return reader
  })
  const other = await unsent.admit('ann', answer(60 * MiB))
  assert.equal(isAdmitted, false)
  unsent.leave(first)
  unsent.leave(await second)
  unsent.leave(other)
})

test('one answer may be larger than the limit, and answers are admitted in the order asked', async () => {
  const unsent = new UnsentBytes()
  const large = await unsent.admit('eve', answer(200 * MiB))
  const order: string[] = []
  const more = ['a', 'b', 'c'].map(async name => {
    const reader = await unsent.admit('eve', answer(40 * MiB))
    order.push(name)
    return reader
  })
  unsent.leave(large)
  for (const reader of more) unsent.leave(await reader)
  assert.deepEqual(order, ['a', 'b', 'c'])
})

test('readers that stand still are dropped for answers that wait, and those that read are not', async t => {
  t.after(() => mock.timers.reset())
  mock.timers.enable({ apis: ['setInterval'] })
  const unsent = new UnsentBytes()
  const writers = [standIn(5_000), standIn(0), standIn(2_000)]
  for (const writer of writers) {
    const reader = await unsent.admit('eve', answer(20 * MiB))
    reader.writer = writer
    const drop = writer.drop
    writer.drop = () => {
      drop()
      unsent.leave(reader)
    }
  }
  const other = standIn(9_000)
  unsent.watch('ann', other)
  mock.timers.tick(1_000)
  assert.deepEqual(
    writers.map(({ dropped }) => dropped),
    [false, false, false],
    'there is room',
  )
  const waiting = unsent.admit('eve', answer(20 * MiB))
  mock.timers.tick(250)
  await waiting
  assert.deepEqual(
    writers.map(({ dropped }) => dropped),
    [true, false, false],
    'the one that has stood still for longest',
  )
  assert.equal(other.dropped, false)
})
