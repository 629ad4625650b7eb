// A call that may have taken effect: its tool is asked what became of it, and the call is undone.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { open, said, skip, suite, violationsInThemes } from './console-rig.ts'

describe('a call that may have taken effect', { skip }, () => {
  const { browser, rig } = suite({ config: 'test/browser/console-doubt-config.ts' })

  test('is checked by its tool, and undone by a call of its own', async t => {
    const { url, operator } = rig()
    const id = await said(operator, 'Pay the invoice', 'payer')
    const { page, problems } = await open(t, browser(), `${url}/sessions/${id}`)
    const call = page.locator('.tw-call', { hasText: 'pay' }).first()
    await call.getByText('It was started and did not end in time.').waitFor()
    assert.equal(
      await call.getByRole('button', { name: 'Undo this call…' }).count(),
      0,
      'not before it is known',
    )
    await call.getByRole('button', { name: 'What became of it?' }).click()
    await call.getByText('Its tool does not know what became of it.').waitFor()
    await call.getByRole('button', { name: 'What became of it?' }).click()
    await call.getByText('It took effect. No answer came at first').waitFor()
    await call.getByText('paid', { exact: true }).waitFor()
    assert.equal(await call.getByRole('button', { name: 'What became of it?' }).count(), 0)
    page.on('dialog', dialog => void dialog.accept())
    await call.getByRole('button', { name: 'Undo this call…' }).click()
    await call.getByText('Undone.').waitFor()
    assert.equal(await call.getByRole('button', { name: 'Undo this call…' }).count(), 0)
    assert.deepEqual(await violationsInThemes(page), [])
    const { events } = await operator.events(id)
    const turn = events.find(({ event }) => event.type === 'turn.started' && event.ask?.undoes !== undefined)
    assert.ok(turn)
    await page.reload()
    await page.locator('.tw-call', { hasText: 'undo_pay' }).locator('.tw-call-line').click()
    await page.getByText('The bank has given it back.').first().waitFor()
    assert.deepEqual(problems, [])
  })
})
