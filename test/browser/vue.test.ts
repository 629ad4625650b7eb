// `turnwire/vue` in a real Chromium with the real Vue, against a real server: a page of ours, and the component of the guide.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createServer, type Plugin } from 'vite'
import { compileScript, parse } from 'vue/compiler-sfc'
import { AapClient } from '../../src/client/index.ts'
import { rehearsal, startServer, Turnwire, tool } from '../../src/index.ts'
import { folder, root } from '../cli/rig.ts'
import { launch, skip } from './console-rig.ts'

const cancelOrder = tool({
  name: 'cancel_order',
  description: 'Cancels an order.',
  input: { type: 'object', properties: { order: { type: 'integer' } }, required: ['order'] },
  run: ({ order }) => `Order ${Number(order)} is cancelled.`,
})
const pageTools = ['read_cart', 'local_time'].map(name => ({
  name,
  description: `The ${name.replace('_', ' ')} of the page.`,
  parameters: { type: 'object', properties: {} },
}))

/** The component of docs/guide/vue.md, compiled by Vue, and a page that shows it. */
function guidePages(serverUrl: () => string): Plugin {
  const [, source = ''] = /^```vue\n([\s\S]*?)^```$/m.exec(readFileSync('docs/guide/vue.md', 'utf8')) ?? []
  const { descriptor, errors } = parse(source)
  assert.deepEqual(errors, [])
  const chat = compileScript(descriptor, { id: 'guide', inlineTemplate: true }).content
  const main = `import { createApp } from 'vue'
import Chat from '/chat.ts'
createApp(Chat, { sessionId: new URLSearchParams(location.search).get('session') }).mount('#root')`
  return {
    name: 'guide',
    resolveId: id => (['/guide.ts', '/chat.ts'].includes(id) ? id : undefined),
    load: id => {
      if (id === '/guide.ts') return main
      return id === '/chat.ts' ? chat.replace('http://127.0.0.1:4117', serverUrl()) : undefined
    },
  }
}

type Rig = { page: Page; origin: string; url: string; client: AapClient; wrong: string[] }

async function openPage(t: TestContext): Promise<Rig> {
  let url = ''
  const vite = await createServer({
    configFile: false,
    root: join(root, 'test/browser/vue-page'),
    cacheDir: join(folder(t), 'cache'),
    resolve: {
      alias: {
        'turnwire/client': join(root, 'src/client/index.ts'),
        'turnwire/vue': join(root, 'src/vue/index.ts'),
      },
    },
    plugins: [guidePages(() => url)],
    server: { port: 0, host: '127.0.0.1', hmr: false, ws: false, fs: { allow: [root] } },
    logLevel: 'error',
  })
  await vite.listen()
  t.after(() => vite.close())
  const { origin } = new URL(vite.resolvedUrls?.local[0] ?? '')
  const agents = [{ name: 'clerk', model: rehearsal(), tools: [cancelOrder] }]
  const turnwire = await Turnwire.open({ agents, data: 'memory', server: { origins: [origin] } })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  url = server.url
  const context = await (await launch()).newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  const wrong: string[] = []
  // Vite's own complaints, of its socket that is off, are not the page's.
  page.on('console', message => message.text().startsWith('[Vue warn]') && wrong.push(message.text()))
  page.on('pageerror', error => wrong.push(error.message))
  return { page, origin, url, client: new AapClient({ baseUrl: url }), wrong }
}

const newSession = (client: AapClient): Promise<string> =>
  client.createSession({ agent: { name: 'clerk', tools: [{ name: 'cancel_order' }] }, tools: pageTools })

test('a page with Vue follows a session, runs its tool, decides after a reload, and leaves', {
  skip,
}, async t => {
  const { page, origin, url, client, wrong } = await openPage(t)
  const [id, other] = [await newSession(client), await newSession(client)]
  await client.say(other, 'Cancel order 99')
  const closed = new Set<string>()
  page.on('requestfailed', request => closed.add(new URL(request.url()).pathname))
  await page.goto(`${origin}/?${new URLSearchParams({ server: url, session: id, other })}`)
  await page.getByRole('heading', { name: /^Vue 3\./ }).waitFor()

  await page.getByRole('button', { name: 'Read' }).click()
  await page.getByText('read_cart answered: pens, paper.').waitFor()
  await page.getByRole('button', { name: 'Cancel order' }).click()
  await page.getByText('Waiting for approval of cancel_order').waitFor()
  await page.reload()
  await page.getByText('cancel_order {"order":17}').waitFor()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText(/Order 18 is cancelled/).waitFor()
  await page.getByText('Done', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Allow' }).count(), 0)

  closed.clear()
  await page.getByRole('button', { name: 'Other session' }).click()
  await page.getByText('cancel_order {"order":99}').waitFor()
  assert.equal(await page.getByText(/Order 18/).count(), 0)
  assert.ok(closed.has(`/sessions/${id}/events`), 'the stream of the first session is closed')
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('main').waitFor({ state: 'detached' })
  while (!closed.has(`/sessions/${other}/events`)) await page.waitForEvent('requestfailed')
  assert.deepEqual(wrong, [])
})

test('the component of the guide shows a session, answers with its tool, and has a call rejected and allowed', {
  skip,
}, async t => {
  const { page, origin, client, wrong } = await openPage(t)
  await page.goto(`${origin}/guide.html?session=${await newSession(client)}`)
  const say = async (text: string): Promise<void> => {
    await page.getByRole('textbox').fill(text)
    await page.keyboard.press('Enter')
  }
  await page.getByText('Nothing was said yet').waitFor()
  await say('What is my local time?')
  await page.getByText(/^local_time answered: \d/).waitFor()
  await say('Cancel order 17')
  await page.getByRole('button', { name: 'Reject' }).click()
  await page.getByText('cancel_order: denied').waitFor()
  await say('Cancel order 18')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText(/Order 18 is cancelled/).waitFor()
  assert.deepEqual(wrong, [])
})
