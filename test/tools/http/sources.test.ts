// Where a result came from: the outcome says it, without secrets.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { http, tool } from '../../../src/tools/index.ts'

test('the outcome names what a tool fetched, without query and key', async t => {
  const api = createServer((_, answer) => answer.end('{}')).listen(0, '127.0.0.1')
  await new Promise(resolve => api.once('listening', resolve))
  t.after(() => api.close())
  const host = `127.0.0.1:${(api.address() as AddressInfo).port}`
  const common = { description: 'x', input: { type: 'object' }, trust: 'trusted' } as const
  const key = { apiKey: 'sk-1234567890', name: 'key', in: 'query' } as const
  const tools = [
    http({ ...common, name: 'api', url: `http://${host}/orders`, auth: key }),
    tool({
      ...common,
      name: 'own',
      run: async (_, context) => (await context.fetch(`http://${host}/page?token=sk-1234567890#x`)).text(),
    }),
    tool({ ...common, name: 'quiet', run: () => 'ok' }),
  ]
  const calls = tools.map(({ name }) => ({ name, input: {} }))
  const model = scripted([{ calls }, { text: 'done' }])
  const egress = { privateHosts: [host] }
  const turnwire = await Turnwire.open({ agents: [{ name: 'a', model, tools }], egress, data: 'memory' })
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  await session.send('Go')
  const entry = (await session.history()).find(each => each.role === 'tool')
  const sources = entry?.results.map(({ outcome }) => outcome.provenance?.sources)
  assert.deepEqual(
    sources?.map(each => each?.map(({ uri }) => uri)),
    [[`http://${host}/orders`], [`http://${host}/page`], undefined],
  )
  assert.ok(sources?.[0]?.every(({ at }) => at > 0))
})

test('the outcome names the address after a redirect', async t => {
  const api = createServer((request, answer) => {
    if (request.url === '/there?key=sk-1') answer.end('{}')
    else answer.writeHead(302, { location: '/there?key=sk-1' }).end()
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => api.once('listening', resolve))
  t.after(() => api.close())
  const host = `127.0.0.1:${(api.address() as AddressInfo).port}`
  const own = tool({
    name: 'own',
    description: 'x',
    input: { type: 'object' },
    trust: 'trusted',
    run: async (_, context) => {
      const answer = await context.fetch(`http://${host}/here`)
      await answer.text()
      return answer.url
    },
  })
  const model = scripted([{ calls: [{ name: 'own', input: {} }] }, { text: 'done' }])
  const egress = { privateHosts: [host] }
  const turnwire = await Turnwire.open({
    agents: [{ name: 'a', model, tools: [own] }],
    egress,
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  await session.send('Go')
  const entry = (await session.history()).find(each => each.role === 'tool')
  const outcome = entry?.results[0]?.outcome
  assert.deepEqual(
    outcome?.provenance?.sources?.map(({ uri }) => uri),
    [`http://${host}/there`],
  )
  assert.deepEqual(
    outcome?.parts,
    [{ type: 'text', text: `http://${host}/there?key=sk-1` }],
    'as fetch says it',
  )
})

test('the outcome says who or what let the call run', async t => {
  const send = tool({ name: 'send', description: 'x', input: { type: 'object' }, run: () => 'sent' })
  const free = tool({
    ...{ name: 'free', description: 'x', trust: 'trusted' },
    input: { type: 'object' },
    run: () => 'ok',
  })
  const ruled = tool({ name: 'ruled', description: 'x', input: { type: 'object' }, run: () => 'ok' })
  const again = { calls: [{ name: 'send', input: {} }] }
  const model = scripted([
    { calls: [...again.calls, { name: 'free', input: {} }, { name: 'ruled', input: {} }] },
    { text: 'done' },
    again,
    { text: 'done' },
  ])
  const rules = [
    { tool: 'send', then: 'ask' as const },
    { tool: 'ruled', then: 'allow' as const },
  ]
  const turnwire = await Turnwire.open({
    agents: [{ name: 'a', model, tools: [send, free, ruled], rules }],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  await session.send('Go')
  const [waiting] = await session.pending()
  await session.approve(waiting!.callId, { by: 'ana', remember: true })
  await session.send('Again')
  const approvals = (await session.history()).flatMap(entry =>
    entry.role === 'tool' ? entry.results.map(({ outcome }) => outcome.provenance?.allowed) : [],
  )
  const [asked, unasked, byRule, remembered] = approvals
  assert.deepEqual(asked, { by: 'ana', rule: 'policy[0]' })
  assert.equal(unasked, undefined)
  assert.deepEqual(byRule, { rule: 'policy[1]' })
  assert.equal(remembered?.by, 'ana')
  assert.equal(typeof remembered?.grantId, 'string')
})

test('the outcome says how large a result was that it shows in part', async t => {
  const common = { description: 'x', input: { type: 'object' }, trust: 'trusted', outputLimit: 1024 } as const
  const tools = [
    tool({ ...common, name: 'long', run: () => 'x'.repeat(5_000) }),
    tool({ ...common, name: 'short', run: () => 'ok' }),
  ]
  const model = scripted([{ calls: tools.map(({ name }) => ({ name, input: {} })) }, { text: 'done' }])
  const turnwire = await Turnwire.open({ agents: [{ name: 'a', model, tools }], data: 'memory' })
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  await session.send('Go')
  const entry = (await session.history()).find(each => each.role === 'tool')
  assert.deepEqual(
    entry?.results.map(({ outcome }) => outcome.provenance),
    [{ wholeBytes: 5_000 }, undefined],
  )
})

test('sources stay named when a hook replaces the result', async t => {
  const read = tool({
    ...{ name: 'read', description: 'x', trust: 'trusted', input: { type: 'object' } },
    run: () => ({ parts: [{ type: 'text', text: 'raw' }], sources: [{ uri: 'file:///notes?key=1' }] }),
  })
  const model = scripted([{ calls: [{ name: 'read', input: {} }] }, { text: 'done' }])
  const turnwire = await Turnwire.open({
    agents: [{ name: 'a', model, tools: [read] }],
    hooks: { afterCall: () => ({ output: { parts: [{ type: 'text', text: 'cleaned' }] } }) },
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  await session.send('Go')
  const entry = (await session.history()).find(each => each.role === 'tool')
  const { parts, provenance } = entry?.results[0]?.outcome ?? {}
  assert.match(JSON.stringify(parts), /cleaned/)
  assert.deepEqual(
    provenance?.sources?.map(({ uri }) => uri),
    ['file:///notes'],
  )
})
