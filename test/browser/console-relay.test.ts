// What an operator sees of attached agents, and an owner of their own machine, in a real Chromium: real machines, a real
// payment on a local chain, a refusal.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { makePrivateFolder } from '../../src/data/private-folder.ts'
import { StatusFile } from '../../src/relay/owner/index.ts'
import { skipped, startChain } from '../payments/chain.ts'
import { operator } from '../payments/rig.ts'
import { paidRelay, payingFetch, request } from '../relay/paid-rig.ts'
import { ask, folder, machine, newWallet, RawMachine } from '../relay/rig.ts'
import { launch, open, skip, violationsInThemes } from './console-rig.ts'

describe('agents on their owners’ machines', { skip: skip || skipped }, async () => {
  const chain = await startChain()
  let browser: Browser
  before(async () => {
    browser = await launch()
  })
  after(() => browser?.close())

  test('the operator sees of each agent what it served, failed, refused and earned; the owner the same', async t => {
    const data = folder(t)
    const { url } = await paidRelay(t, chain, {}, {}, data)
    const { page, problems } = await open(t, browser, `${url}/overview`)
    await page.getByLabel('API key').fill(operator.key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('None is attached.').waitFor()

    const script = [{ text: 'It is 4.', usage: { input: 100, output: 50 } }]
    const ada = await machine(t, url, script, { prices: ['1', '4'], name: 'Ada' })
    const body = { model: 'm', agent_id: ada.agentId, input: 'Hi' }
    const paid = await payingFetch(await chain.payer())(`${url}/v1/responses`, request(body))
    assert.equal(paid.status, 200, await paid.text())
    const wallet = await newWallet()
    const raw = await RawMachine.attached(t, url, wallet, { agentName: 'Bob' })
    const asked = ask(url, { model: 'm', agent_id: wallet.address, input: 'Hi' }, { token: operator.key })
    const { id } = await raw.frame('request')
    raw.send({ type: 'error', id, code: 'plugin_error', message: 'No.' })
    assert.equal((await asked).status, 502)

    const row = (name: string) => page.getByRole('row', { name: new RegExp(`^${name}`) })
    await row('Bob').waitFor()
    await row('Ada').getByText('300 of').waitFor()
    const cells = async (name: string): Promise<string[]> => row(name).locator('td').allInnerTexts()
    const heads = await page
      .locator('section[aria-label="Table of attached agents"] thead th')
      .allInnerTexts()
    const shown = async (name: string): Promise<Record<string, string>> => {
      const texts = [name, ...(await cells(name))]
      return Object.fromEntries(heads.map((head, index) => [head.trim(), texts[index]?.trim() ?? '']))
    }
    const [first, second] = [await shown('Ada'), await shown('Bob')]
    const token = `${chain.token.slice(0, 6)}…`
    assert.deepEqual(
      [first['Served'], first['Failed'], first['Refused'], first['Earned']],
      ['1', '0', '0', `300 of ${token}`],
    )
    assert.deepEqual(
      [second['Served'], second['Failed'], second['Refused'], second['Earned']],
      ['0', '1', '1', '0'],
    )

    // A machine of this folder serves another relay.
    await page.getByText('This machine at a relay').waitFor({ state: 'detached' })
    const prices = { inputTokenPrice: '2', outputTokenPrice: '8' }
    makePrivateFolder(join(data, 'attach'))
    const status = new StatusFile(join(data, 'attach/status.json'), {
      server: 'https://relay.example',
      agentId: wallet.address,
      prices,
    })
    status.served({ input_tokens: 10, output_tokens: 5, total_tokens: 15 })
    status.refused('This machine answers 8 requests already.')
    status.now('attached')
    const own = page.getByRole('region', { name: 'This machine at a relay' })
    await own.getByText('https://relay.example').waitFor()
    const line = async (name: string): Promise<string> =>
      own
        .getByRole('row', { name: new RegExp(`^${name}`) })
        .locator('td')
        .first()
        .innerText()
    assert.deepEqual(
      [await line('State'), await line('Served'), await line('Earned'), await line('Read / written')],
      ['attached', '1', '60', '2 / 8'],
    )
    await own.getByText('This machine answers 8 requests already.').waitFor()
    assert.deepEqual(await violationsInThemes(page), [])
    assert.deepEqual(problems, [])
  })
})
