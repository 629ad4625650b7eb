// An agent with many tools: the model is declared a search and a few, and what the search found from then on.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { AgentConfig, TurnwireConfig } from '../../../src/config/config.ts'
import type { ModelRequest } from '../../../src/engine/index.ts'
import { isJsonObject, type JsonObject } from '../../../src/lib/json/index.ts'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import type { ToolLookup } from '../../../src/tools/search/index.ts'
import { writtenTools } from './catalogue.ts'
import { bodies, call, find, nameOf, says, toolsIn, type Vendor, vendorModel, vendors } from './rig.ts'

const always = ['weather__current']

async function open(
  t: TestContext,
  agent: Partial<AgentConfig> & Pick<AgentConfig, 'model'>,
  config: Partial<TurnwireConfig> = {},
): Promise<Turnwire> {
  const turnwire = await Turnwire.open({
    agents: [{ name: 'clerk', tools: writtenTools(), search: true, always, ...agent }],
    data: 'memory',
    ...config,
  })
  t.after(() => turnwire.close())
  return turnwire
}

/** What was said so far, as this vendor reads it. Where a cache ends is marked anew with each request. */
function conversationIn(body: JsonObject): unknown[] {
  const said = body['messages'] ?? body['input'] ?? body['contents']
  assert.ok(Array.isArray(said))
  return JSON.parse(JSON.stringify(said, (key, value) => (key === 'cache_control' ? undefined : value)))
}

const twoSearches = [
  find('open a pull request'),
  call('github__create_pull_request', { title: 'Fix' }),
  says('Opened.'),
  find('refund a payment'),
  call('stripe__refund_payment', { charge: 'c1' }),
  says('Refunded.'),
]

describe('what a search finds is declared from the next request on', () => {
  for (const vendor of Object.keys(vendors) as Vendor[])
    test(`${vendor}: it is called, and declarations only grow at their end`, async t => {
      const { model, double } = await vendorModel(t, vendor, structuredClone(twoSearches))
      const session = await (await open(t, { model })).session()
      assert.equal((await session.send('Open a pull request.')).text, 'Opened.')
      assert.equal((await session.send('Refund it.')).text, 'Refunded.')
      const sent = bodies(double)
      assert.equal(sent.length, 6)
      const lists = sent.map(body => toolsIn(body))
      assert.deepEqual(lists[0]!.map(nameOf), ['weather__current', 'find_tools'])
      for (const [at, list] of lists.entries()) {
        const before = lists[at - 1] ?? []
        assert.deepEqual(list.slice(0, before.length), before, `request ${at}`)
      }
      const spoken = sent.map(conversationIn)
      for (const [at, items] of spoken.entries()) {
        const before = spoken[at - 1] ?? []
        assert.ok(items.length > before.length)
        assert.deepEqual(items.slice(0, before.length), before, `the conversation of request ${at}`)
      }
      const calls = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
      assert.deepEqual(
        calls.map(({ name, outcome }) => `${name} ${outcome.kind}`),
        ['find_tools ok', 'github__create_pull_request ok', 'find_tools ok', 'stripe__refund_payment ok'],
      )
      if (vendor !== 'anthropic' && vendor !== 'openai-responses')
        assert.ok(lists[1]!.map(nameOf).includes('github__create_pull_request'))
    })

  test('anthropic: found tools are deferred and referred to, so the prompt before them stays as it was', async t => {
    const { model, double } = await vendorModel(t, 'anthropic', structuredClone(twoSearches))
    const session = await (await open(t, { model })).session()
    await session.send('Open a pull request.')
    await session.send('Refund it.')
    const sent = bodies(double)
    const loaded = (body: JsonObject) => toolsIn(body).filter(tool => tool['defer_loading'] !== true)
    for (const body of sent) assert.deepEqual(loaded(body).map(nameOf), ['weather__current', 'find_tools'])
    const deferred = toolsIn(sent[1]!).filter(tool => tool['defer_loading'] === true)
    assert.equal(deferred[0]?.['name'], 'github__create_pull_request')
    assert.match(
      JSON.stringify(sent[1]!['messages']),
      /"content":\[\{"type":"tool_reference","tool_name":"github__create_pull_request"\}/,
    )
  })

  test('openai: found tools stand in the input, so the list of tools never changes', async t => {
    const { model, double } = await vendorModel(t, 'openai-responses', structuredClone(twoSearches))
    const session = await (await open(t, { model })).session()
    await session.send('Open a pull request.')
    await session.send('Refund it.')
    const sent = bodies(double)
    for (const body of sent) assert.deepEqual(body['tools'], sent[0]!['tools'])
    const inputs = sent.map(body => body['input'] as JsonObject[])
    for (const [at, input] of inputs.entries()) {
      const before = inputs[at - 1] ?? []
      assert.deepEqual(input.slice(0, before.length), before, `request ${at}`)
    }
    const added = inputs.at(-1)!.filter(({ tools }) => tools !== undefined)
    const names = added.map(({ tools }) => (tools as JsonObject[]).map(nameOf))
    assert.equal(names.length, 2)
    assert.equal(names[0]![0], 'github__create_pull_request')
    assert.ok(names[1]!.includes('stripe__refund_payment'))
    assert.equal(new Set(names.flat()).size, names.flat().length, 'each is declared once')
  })

  test('openai: a model before tool search is given found tools in its list', async t => {
    const { model, double } = await vendorModel(
      t,
      'openai-responses',
      structuredClone(twoSearches),
      'gpt-5.2',
    )
    const session = await (await open(t, { model })).session()
    await session.send('Open a pull request.')
    const [, second] = bodies(double)
    assert.ok(toolsIn(second!).map(nameOf).includes('github__create_pull_request'))
  })
})

describe('what was found is part of the session', () => {
  test('a restart and another vendor are declared the same', async t => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwire-search-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const first = await vendorModel(t, 'openai-chat', [find('open a pull request'), says('Found.')])
    const other = await vendorModel(t, 'anthropic', [call('github__create_pull_request'), says('Opened.')])
    const config = {
      models: { first: first.model, other: other.model },
      agents: [{ name: 'clerk', model: 'first', tools: writtenTools(), search: true, always } as const],
      data: folder,
    }
    const before = await Turnwire.open(config)
    const { id } = await (async () => {
      const session = await before.session()
      await session.send('Find it.')
      return session
    })()
    await before.close()
    const after = await Turnwire.open(config)
    t.after(() => after.close())
    const session = await after.resume(id)
    await session.setModel('other')
    assert.equal((await session.send('Open it.')).text, 'Opened.')
    const [request] = bodies(other.double)
    assert.ok(toolsIn(request!).map(nameOf).includes('github__create_pull_request'))
  })

  test('a summary of the history takes away no tool', async t => {
    for (const vendor of ['anthropic', 'openai-responses'] as const) {
      const { model, double } = await vendorModel(t, vendor, [
        find('open a pull request'),
        says('Found.'),
        says('Nothing else.'),
        says('Summary.'),
        call('github__create_pull_request'),
        says('Opened.'),
      ])
      const turnwire = await open(t, { model, compaction: { afterTokens: 1_000_000, keepEntries: 1 } })
      const session = await turnwire.session()
      await session.send('Find it.')
      await session.send('And?')
      assert.ok(await session.compact())
      assert.equal((await session.send('Open it.')).text, 'Opened.')
      const last = bodies(double).at(-1)!
      const declared = toolsIn(last).find(tool => tool['name'] === 'github__create_pull_request')
      assert.ok(declared && declared['defer_loading'] !== true, vendor)
    }
  })

  test('so many tools are declared at most, and the oldest leave together', async t => {
    const sizes: number[] = []
    const steps = Array.from({ length: 14 }, (_, at) => ({
      calls: [{ name: 'find_tools', input: { query: `group${at} thing`, limit: 10 } }],
    }))
    const tools = Array.from({ length: 140 }, (_, at) => ({
      ...writtenTools()[0]!,
      name: `group${Math.floor(at / 10)}__thing_${at}`,
      description: `Thing of group${Math.floor(at / 10)}.`,
    }))
    const watch = (request: ModelRequest): boolean => sizes.push(request.tools.length) > 0
    const model = scripted([
      ...steps.map(step => ({ ...step, expect: watch })),
      { text: 'done', expect: watch },
    ])
    const session = await (await open(t, { model, tools, always: [] })).session()
    assert.equal((await session.send('Find all.')).text, 'done')
    assert.ok(Math.max(...sizes) <= 97, `most: ${Math.max(...sizes)}`)
    assert.ok(sizes.at(-1)! > 40)
  })
})

describe('discovery is not permission', () => {
  const search = (query: string) => ({ calls: [{ name: 'find_tools', input: { query, limit: 20 } }] })
  const found = async (session: Awaited<ReturnType<Turnwire['session']>>): Promise<string> =>
    JSON.stringify((await session.history()).filter(entry => entry.role === 'tool'))

  test('a tool that policy denies is not found, and not even named by a call of it', async t => {
    const model = scripted([
      search('refund a payment'),
      { calls: [{ name: 'stripe__refund_payment', input: {} }] },
      { text: 'done' },
    ])
    const rules = [{ tool: 'stripe__refund*', then: 'deny' }] as const
    const session = await (await open(t, { model, rules })).session()
    await session.send('Refund.')
    const results = await found(session)
    assert.doesNotMatch(results, /stripe__refund_payment: /)
    assert.match(results, /There is no tool named \\"stripe__refund_payment/)
    assert.match(results, /stripe__list_charges/)
  })

  test('a rule with a condition may allow some calls, so its tool is found', async t => {
    const model = scripted([search('refund a payment'), { text: 'done' }])
    const rules = [
      { tool: 'stripe__refund*', when: () => false, then: 'allow' },
      { tool: 'stripe__refund*', then: 'deny' },
    ] as const
    const session = await (await open(t, { model, rules: [...rules] })).session()
    await session.send('Refund.')
    assert.match(await found(session), /stripe__refund_payment/)
  })

  test('a tool that is off in this session is not found, and one of its owner only is never named', async t => {
    const model = scripted([search('refund a payment'), { text: 'done' }])
    const turnwire = await open(t, { model })
    const session = await turnwire.session('clerk', {
      owner: 'ana',
      tools: [{ name: 'stripe__list_charges', trust: true }],
    })
    await session.send('Refund.')
    const results = await found(session)
    assert.match(results, /stripe__list_charges/)
    assert.doesNotMatch(results, /stripe__refund_payment/)
    const other = await turnwire.session('clerk', { owner: 'bob' })
    await other.send('Refund.')
    assert.match(await found(other), /stripe__refund_payment/)
  })

  test("an owner's own tools are named to nobody else, and nobody else can call them", async t => {
    const name = 'ana_secret_refund'
    const model = scripted([
      search('ana secret refund of a payment'),
      { calls: [{ name, input: {} }] },
      { text: 'done' },
    ])
    const turnwire = await open(t, { model })
    const ownTools = [{ name, description: 'Ana: secret refund of a payment.', input: { type: 'object' } }]
    const ana = await turnwire.session('clerk', { owner: 'ana', ownTools })
    assert.equal((await ana.send('Refund.')).status, 'waiting', 'she is handed the call of her own tool')
    const bob = await turnwire.session('clerk', { owner: 'bob' })
    assert.equal((await bob.send('Refund.')).text, 'done')
    const [searched, called] = (await bob.history()).filter(entry => entry.role === 'tool')
    assert.match(JSON.stringify(searched), /stripe__refund_payment/)
    assert.doesNotMatch(JSON.stringify(searched), /secret/i)
    assert.match(JSON.stringify(called), /There is no tool named/)
  })

  test('a tool that a person refused for the session is not found any more', async t => {
    const refund = { calls: [{ name: 'stripe__refund_payment', input: {} }] }
    const model = scripted([
      search('refund a payment'),
      refund,
      { text: 'Denied.' },
      search('refund a payment'),
      { text: 'Gone.' },
    ])
    const tools = writtenTools({ trust: 'ask' })
    const session = await (await open(t, { model, tools })).session()
    await session.send('Refund.')
    const [waiting] = await session.pending()
    assert.equal(waiting?.tool, 'stripe__refund_payment', 'a tool that was found still asks')
    await session.deny(waiting!.callId, { remember: true })
    await session.send('Again.')
    const searches = (await session.history()).flatMap(entry =>
      entry.role === 'tool' ? entry.results.filter(({ name }) => name === 'find_tools') : [],
    )
    const { loads, report } = searches[0]!.outcome
    assert.ok(loads?.includes('stripe__refund_payment'))
    assert.deepEqual(report?.rows?.columns, ['tool', 'description'])
    assert.deepEqual(
      report?.rows?.rows.map(([name]) => name),
      loads,
      'people see what was found as a table',
    )
    assert.ok(!searches[1]!.outcome.loads?.includes('stripe__refund_payment'))
  })

  test('a call of a tool that is not loaded is not run: the model is told how to find it', async t => {
    const model = scripted([
      { calls: [{ name: 'stripe__refund_payment', input: {} }] },
      search('refund a payment'),
      { calls: [{ name: 'stripe__refund_payment', input: {} }] },
      { text: 'done' },
    ])
    const session = await (await open(t, { model })).session()
    await session.send('Refund.')
    const outcomes = (await session.history()).flatMap(entry =>
      entry.role === 'tool' ? entry.results.map(({ outcome }) => outcome) : [],
    )
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['invalid', 'ok', 'ok'],
    )
    assert.match(JSON.stringify(outcomes[0]), /not loaded.*find_tools/)
  })
})

describe("the vendor's own search", () => {
  test('anthropic: all tools are deferred; what it finds is called and stays loaded', async t => {
    const use = {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'tool_search_tool_bm25',
      input: { query: 'refund' },
    }
    const result = {
      type: 'tool_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: {
        type: 'tool_search_tool_search_result',
        tool_references: [{ type: 'tool_reference', tool_name: 'stripe__refund_payment' }],
      },
    }
    const { model, double } = await vendorModel(t, 'anthropic', [
      { native: [use, result], calls: [{ name: 'stripe__refund_payment', input: {} }] },
      says('Refunded.'),
    ])
    const other = await vendorModel(t, 'openai-chat', [call('stripe__refund_payment'), says('Again.')])
    const turnwire = await open(t, { model, search: { byVendor: true } }, { models: { other: other.model } })
    const session = await turnwire.session()
    assert.equal((await session.send('Refund.')).text, 'Refunded.')
    const [first, second] = bodies(double)
    const declared = toolsIn(first!)
    assert.equal(declared.filter(tool => tool['defer_loading'] === true).length, writtenTools().length - 1)
    assert.ok(!declared.some(tool => tool['name'] === 'find_tools'))
    assert.deepEqual(second!['tools'], first!['tools'])
    await session.setModel('other')
    assert.equal((await session.send('Again.')).text, 'Again.')
    const names = toolsIn(bodies(other.double)[0]!).map(nameOf)
    assert.deepEqual(names, ['weather__current', 'find_tools', 'stripe__refund_payment'])
  })

  test('openai: tools of one server are one namespace; what it finds is called', async t => {
    const hosted = { execution: 'server', call_id: null, status: 'completed' }
    const refund = {
      type: 'function',
      name: 'refund_payment',
      description: 'Refund a charge',
      parameters: { type: 'object', properties: {} },
      strict: false,
    }
    const found = { type: 'namespace', name: 'stripe', description: 'Stripe', tools: [refund] }
    const called = { type: 'function_call', call_id: 'c1', name: 'refund_payment', namespace: 'stripe' }
    const { model, double } = await vendorModel(t, 'openai-responses', [
      {
        native: [
          { type: 'tool_search_call', ...hosted, arguments: { query: 'refund' } },
          { type: 'tool_search_output', ...hosted, tools: [found] },
          { ...called, arguments: '{}', status: 'completed' },
        ],
      },
      says('Refunded.'),
    ])
    const session = await (await open(t, { model, search: { byVendor: true } })).session()
    assert.equal((await session.send('Refund.')).text, 'Refunded.')
    const [first, second] = bodies(double)
    const declared = toolsIn(first!)
    assert.ok(declared.some(tool => tool['type'] === 'tool_search'))
    const stripe = declared.find(tool => tool['type'] === 'namespace' && tool['name'] === 'stripe')
    const inner = (stripe?.['tools'] ?? []) as JsonObject[]
    assert.ok(inner.some(tool => tool['name'] === 'refund_payment' && tool['defer_loading'] === true))
    assert.deepEqual(second!['tools'], first!['tools'])
    const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
    assert.deepEqual(
      results.map(({ name, outcome }) => `${name} ${outcome.kind}`),
      ['stripe__refund_payment ok'],
    )
  })

  test('a vendor that cannot search leaves it to ours', async t => {
    const { model, double } = await vendorModel(t, 'gemini', [find('refund'), says('Found.')])
    const session = await (await open(t, { model, search: { byVendor: true } })).session()
    await session.send('Refund.')
    assert.deepEqual(toolsIn(bodies(double)[0]!).map(nameOf), ['weather__current', 'find_tools'])
  })
})

describe('an embedder', () => {
  /** A vector per text: whether it is about money, about code, or about neither. */
  async function startEmbedder(t: TestContext, status = 200): Promise<{ url: string; asked: JsonObject[] }> {
    const asked: JsonObject[] = []
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', chunk => chunks.push(chunk))
      request.on('end', () => {
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
        assert.ok(isJsonObject(body) && Array.isArray(body['input']))
        asked.push(body)
        const data = body['input'].map((text, index) => ({
          index,
          embedding: [
            /refund|Geld zurück/i.test(JSON.stringify(text)) ? 1 : 0.01,
            /pull/.test(JSON.stringify(text)) ? 1 : 0.01,
          ],
        }))
        response.writeHead(status, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ data }))
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/embeddings`, asked }
  }

  const searching = (query: string) =>
    scripted([{ calls: [{ name: 'find_tools', input: { query, limit: 3 } }] }, { text: 'done' }])
  const loads = async (session: Awaited<ReturnType<Turnwire['session']>>): Promise<string[]> =>
    (await session.history()).flatMap(entry =>
      entry.role === 'tool' ? entry.results.flatMap(({ outcome }) => outcome.loads ?? []) : [],
    )

  test('finds by meaning what shares no word, within the egress rule', async t => {
    const { url, asked } = await startEmbedder(t)
    const embedder = { url, model: 'small', apiKey: 'secret' }
    const egress = { privateHosts: ['127.0.0.1'] }
    const turnwire = await open(t, { model: searching('Geld zurück'), search: { embedder } }, { egress })
    const session = await turnwire.session()
    await session.send('Geld zurück!')
    assert.equal((await loads(session))[0], 'stripe__refund_payment')
    assert.equal(asked[0]?.['model'], 'small')
  })

  test('that fails, or that the rule does not allow, leaves the ranking to words', async t => {
    const { url } = await startEmbedder(t, 500)
    for (const egress of [{ privateHosts: ['127.0.0.1'] }, {}]) {
      const embedder = { url, model: 'small' }
      const turnwire = await open(t, { model: searching('refund payment'), search: { embedder } }, { egress })
      const session = await turnwire.session()
      await session.send('Refund.')
      assert.equal((await loads(session))[0], 'stripe__refund_payment')
    }
  })
})

test('the settings are checked, each with its key', async () => {
  const model = scripted([])
  const make = (agent: object) =>
    Turnwire.open({ agents: [{ name: 'clerk', model, ...agent }], data: 'memory' } as TurnwireConfig)
  await assert.rejects(make({ always: ['x'] }), /agents\[0\]\.always: has a meaning only with search/)
  await assert.rejects(make({ search: 'yes' }), /agents\[0\]\.search: must be true/)
  await assert.rejects(make({ search: { results: 0 } }), /agents\[0\]\.search\.results/)
  await assert.rejects(
    make({ search: { embedder: { url: 'ftp://x' } } }),
    /embedder\.url.*\n.*embedder\.model/,
  )
})

describe('a lookup of the program’s own', () => {
  const found = async (t: TestContext, lookup: ToolLookup, lines: string[] = []) => {
    const turnwire = await Turnwire.open(
      {
        agents: [
          {
            name: 'clerk',
            tools: writtenTools(),
            model: scripted([
              { calls: [{ name: 'find_tools', input: { query: 'refund a payment' } }] },
              { text: 'x' },
            ]),
            search: { lookup, results: 2 },
          },
        ],
        data: 'memory',
      },
      { log: (_level, message) => void lines.push(message) },
    )
    t.after(() => turnwire.close())
    const session = await turnwire.session()
    await session.send('Find it.')
    const [result] = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
    const structured = result?.outcome.structured
    assert.ok(isJsonObject(structured) && Array.isArray(structured['tools']))
    return structured['tools']
  }

  test('ranks in place of ours: its order holds, and names that nobody can call are left out', async t => {
    const seen: unknown[] = []
    const given = await found(t, async (query, { tools, limit, owner }) => {
      seen.push(
        query,
        tools.some(({ name }) => name === 'stripe__refund_payment'),
        limit,
        owner,
      )
      return [
        'no_such_tool',
        'github__create_pull_request',
        'github__create_pull_request',
        'weather__current',
      ]
    })
    assert.deepEqual(given, ['github__create_pull_request', 'weather__current'])
    assert.deepEqual(seen, ['refund a payment', true, 2, 'local'])
  })

  test('that throws, or gives something else, leaves the search to words, and the log says so', async t => {
    const lines: string[] = []
    const broken = () => {
      throw new Error('no index')
    }
    for (const lookup of [broken, (() => 'stripe') as unknown as ToolLookup])
      assert.equal((await found(t, lookup, lines))[0], 'stripe__refund_payment')
    assert.equal(lines.filter(line => line.startsWith('A search of tools failed')).length, 2)
  })
})
