// Tampering in a PostgreSQL: rows that are changed, dropped, swapped or added by SQL are found by the signatures.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { VerifiedLog } from '../../src/proof/verify-log.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { stopAll } from '../engine/rig.ts'
import { databaseUrl, newSchema, withClient } from '../stores/postgres/server.ts'
import { play, verifyStored } from './rig.ts'

after(stopAll)

test('rows that are changed, dropped, swapped or added by SQL in PostgreSQL are found', async () => {
  const url = await databaseUrl()
  const schema = newSchema()
  const store = postgresStore({ url, schema })
  const { session, rig } = await play({ store }, 2)
  const { id } = session
  await rig.engine.stop(0)
  const verified = (): Promise<VerifiedLog> => verifyStored(store, id)
  assert.equal((await verified()).broken, undefined)
  await withClient(url, async sql => {
    const events = sql`${sql(schema)}.events`
    const rows = await sql<{ first_seq: string; body: string }[]>`
      SELECT first_seq, body FROM ${events} WHERE session = ${id} ORDER BY first_seq`
    const write = (at: string, body: string) =>
      sql`UPDATE ${events} SET body = ${body} WHERE session = ${id} AND first_seq = ${at}`
    let changed = 0
    for (const { first_seq: at, body } of rows) {
      const other = body.replace(/"(maria|paid|seen|pay it|Done\.)"/, '"forged"')
      if (other === body) continue
      changed += 1
      await write(at, other)
      assert.ok((await verified()).broken, body)
      await write(at, body)
    }
    assert.ok(changed >= 4)
    // A row with several events may lose one of them, have two of them swapped, or have one twice.
    const several = rows.find(({ body }) => (JSON.parse(body) as unknown[]).length > 1)
    assert.ok(several)
    const [first, second, ...rest] = JSON.parse(several.body) as unknown[]
    for (const forged of [
      [second, ...rest],
      [second, first, ...rest],
      [first, first, second, ...rest],
    ]) {
      await write(several.first_seq, JSON.stringify(forged))
      // The store itself may refuse what has a gap.
      const found = await verified().then(
        ({ broken }) => broken !== undefined,
        () => true,
      )
      assert.ok(found, JSON.stringify(forged))
    }
    await write(several.first_seq, several.body)
    const dropped = rows[1]
    assert.ok(dropped)
    await sql`DELETE FROM ${events} WHERE session = ${id} AND first_seq = ${dropped.first_seq}`
    const found = await verified().then(
      ({ broken }) => broken !== undefined,
      () => true,
    )
    assert.ok(found)
    await sql`INSERT INTO ${events} (session, first_seq, epoch, body) VALUES (${id}, ${dropped.first_seq}, 1, ${dropped.body})`
  })
  assert.equal((await verified()).broken, undefined)
  await store.close()
})
