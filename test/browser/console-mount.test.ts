// The console inside an application's own server, under a path: pages, files, links, the live list and decisions work there.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { rehearsal, Turnwire, tool } from '../../src/index.ts'
import { launch, skip } from './console-rig.ts'

const cancelOrder = tool({
  name: 'cancel_order',
  description: 'Cancels an order.',
  input: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
  run: ({ order }) => `Order ${Number(order)} is cancelled.`,
})

test('an operator whom the application knows allows a call in the console under its path', {
  skip,
}, async t => {
  const turnwire = await Turnwire.open({
    agents: [{ name: 'clerk', model: rehearsal(), tools: [cancelOrder] }],
    data: 'memory',
    server: {
      path: '/internal/agents',
      authenticate: request =>
        request.headers.get('cookie')?.includes('user=ann') ? { owner: 'ann', operator: true } : undefined,
    },
  })
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/internal/')) void turnwire.node(request, response)
    else response.end('the application')
  }).listen(0, '127.0.0.1')
  t.after(async () => {
    await turnwire.close()
    server.closeAllConnections()
    server.close()
  })
  await new Promise(resolve => server.once('listening', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const context = await (await launch()).newContext()
  t.after(() => context.close())
  await context.addCookies([{ name: 'user', value: 'ann', url: origin }])
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('console', message => message.type() === 'error' && wrong.push(message.text()))
  page.on('response', answer => answer.status() >= 400 && wrong.push(`${answer.status()} ${answer.url()}`))
  page.on('request', request => {
    if (!request.url().startsWith(`${origin}/internal/agents`)) wrong.push(request.url())
  })

  await page.goto(`${origin}/internal/agents`)
  await page.getByRole('textbox', { name: /Say something/ }).fill('Cancel order 17')
  await page.keyboard.press('Enter')
  await page
    .getByRole('button', { name: /^Allow/ })
    .first()
    .click()
  await page
    .getByText(/Order 17 is cancelled/)
    .first()
    .waitFor()
  await page.getByRole('link', { name: 'Sessions', exact: true }).click()
  await page.getByRole('link', { name: /Cancel order 17/ }).click()
  await page.waitForURL(/\/internal\/agents\/sessions\/sess_/)
  await page.reload()
  await page
    .getByText(/Order 17 is cancelled/)
    .first()
    .waitFor()
  await page.goBack()
  await page.waitForURL(`${origin}/internal/agents/sessions`)
  assert.deepEqual(wrong, [])
})
