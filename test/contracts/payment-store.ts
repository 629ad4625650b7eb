// What every PaymentStore must do, whatever holds its data: at least one test for each sentence of the port's contract.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { PaymentRecord } from '../../src/language/payments.ts'
import type { KeepsPayments, PaymentPage, PaymentStore } from '../../src/payments/port.ts'

export type PaymentsUnderTest = {
  store: KeepsPayments
  /** Opens the same data again, after a close. Absent: nothing lasts. */
  reopen?(): Promise<KeepsPayments>
  cleanup(): Promise<void>
}

export function samplePayment(id: string, over: Partial<PaymentRecord> = {}): PaymentRecord {
  return {
    ...{ id, hash: `hash of ${id}`, state: 'reserved', open: true, kind: 'exact', form: 'x402-2' },
    ...{ payer: '0x0a', payTo: '0x0b', network: 'eip155:1', asset: '0x0c', cap: '10', validUntil: 9 },
    ...{ agent: 'helper', path: '/v1/responses', given: { nonce: '\ud800' }, asked: {}, price: {} },
    ...over,
  }
}

/** `make`: called once for each test, for empty data. */
export function paymentStoreContract(name: string, make: () => Promise<PaymentsUnderTest>): void {
  describe(`the contract of stores of payments: ${name}`, () => {
    let under: PaymentsUnderTest
    let store: PaymentStore
    beforeEach(async () => {
      under = await make()
      store = under.store.payments
    })
    afterEach(() => under.cleanup())

    test('a record is kept as it is, and the same again gives what is there', async () => {
      const record = samplePayment('a', { request: { said: 'Hi' } })
      const kept = await store.reserve(record)
      assert.deepEqual(kept, { record, version: 1 })
      const changed = await store.record(kept, { state: 'settling' })
      assert.deepEqual(await store.reserve(record), changed)
      assert.deepEqual(await store.find('a'), changed)
      assert.equal(await store.find('b'), undefined)
    })

    test('of many that reserve one payment at once, all are given the same record', async () => {
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, index) => store.reserve(samplePayment('a', { reservedAt: index }))),
      )
      assert.equal(new Set(all.map(({ record }) => record.reservedAt)).size, 1)
      assert.equal((await store.list({ limit: 10 })).rows.length, 1)
    })

    test('a payment for another request is refused, and changes nothing', async () => {
      const { record } = await store.reserve(samplePayment('a'))
      const other = samplePayment('a', { hash: 'another', cap: '99' })
      await assert.rejects(store.reserve(other), { code: 'payment_conflict' })
      assert.deepEqual((await store.find('a'))?.record, record)
    })

    test('of changes to the same version one is made, and the others are refused', async () => {
      const kept = await store.reserve(samplePayment('a', { request: { said: 'Hi' } }))
      const made = await Promise.allSettled(
        ['1', '2', '3', '4'].map(amount => store.record(kept, { amount, answer: { text: amount } })),
      )
      const won = made.flatMap(each => (each.status === 'fulfilled' ? [each.value] : []))
      assert.equal(won.length, 1)
      for (const each of made)
        if (each.status === 'rejected') assert.equal((each.reason as { code: string }).code, 'busy')
      assert.deepEqual(await store.find('a'), won[0])
      const again = await store.record(won[0]!, { open: false })
      assert.deepEqual(again.version, 3)
      assert.deepEqual(again.record.answer, won[0]?.record.answer)
      await assert.rejects(store.record({ record: samplePayment('none'), version: 1 }, {}), { code: 'busy' })
    })

    test('what a list gave can be changed, and loses neither its request nor its answer', async () => {
      await store.reserve(samplePayment('a', { request: { said: 'Hi' }, answer: { text: 'Hello' } }))
      const [listed] = (await store.list({ limit: 1 })).rows
      assert.equal(listed?.record.request, undefined)
      assert.equal(listed?.record.answer, undefined)
      await store.record(listed!, { state: 'settled' })
      const { record } = (await store.find('a'))!
      assert.deepEqual(
        [record.state, record.request, record.answer],
        ['settled', { said: 'Hi' }, { text: 'Hello' }],
      )
    })

    test('a request and an answer can be deleted', async () => {
      const kept = await store.reserve(samplePayment('a', { request: { said: 'Hi' } }))
      const answered = await store.record(kept, { request: null, answer: { text: 'Hello' } })
      assert.deepEqual(await store.find('a'), answered)
      const [listed] = (await store.list({ limit: 1 })).rows
      await store.record(listed!, { answer: null })
      const { record } = (await store.find('a'))!
      assert.deepEqual([record.request, record.answer], [null, null])
    })

    test('lists give the newest first, in pages, of a payer, of a session, or with something left to do', async () => {
      for (let index = 0; index < 7; index += 1)
        await store.reserve(
          samplePayment(`p${index}`, {
            payer: index % 2 === 0 ? '0x0a' : '0x0b',
            open: index > 3,
            ...(index % 3 === 0 && { session: 's' }),
            ...(index === 4 && { work: { owner: 'x', session: 's', first: 1 } }),
          }),
        )
      const ids = async (page: Omit<PaymentPage, 'limit'>): Promise<string> => {
        const found: string[] = []
        let after: string | undefined
        do {
          const { rows, next } = await store.list({
            limit: 2,
            ...page,
            ...(after !== undefined && { after }),
          })
          assert.ok(rows.length <= 2)
          found.push(...rows.map(({ record }) => record.id))
          after = next
        } while (after !== undefined)
        return found.join(' ')
      }
      assert.equal(await ids({}), 'p6 p5 p4 p3 p2 p1 p0')
      assert.equal(await ids({ payer: '0x0b' }), 'p5 p3 p1')
      assert.equal(await ids({ payer: '0x0b', open: true }), 'p5')
      assert.equal(await ids({ session: 's' }), 'p6 p4 p3 p0')
      assert.equal(await ids({ session: 's', open: true }), 'p6 p4')
      assert.equal(await ids({ open: true }), 'p6 p5 p4')
      assert.equal(await ids({ payer: 'nobody' }), '')
      await assert.rejects(store.list({ limit: 0 }), { code: 'bad_request' })
    })

    test('what was written is there after the data is opened again', async t => {
      if (!under.reopen) return t.skip('nothing lasts')
      const kept = await store.record(await store.reserve(samplePayment('a')), { state: 'settled' })
      assert.deepEqual(await (await under.reopen()).payments.find('a'), kept)
    })
  })
}
