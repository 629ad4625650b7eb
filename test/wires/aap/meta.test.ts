// GET /meta in all versions.
import assert from 'node:assert/strict'
import test from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import { agentOf, rig } from './rig.ts'

type Meta = { version: number; agents: Record<string, unknown>[] }

test(
  cites('AAP-META-01', 'AAP-META-02', 'AAP-META-03', 'AAP-OLD-16', 'meta names its version and its agents'),
  async t => {
    const at = await rig(t)
    for (const [base, version] of [
      ['', 3],
      ['/aap/v3', 3],
      ['/aap/v2', 2],
      ['/aap/v1', 1],
    ] as const) {
      const answer = await at.request('GET', `${base}/meta`)
      assert.equal(answer.status, 200)
      assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
      const meta = (await answer.json()) as Meta
      assert.equal(meta.version, version)
      const { name, title, version: own, description } = meta.agents[0]!
      assert.deepEqual(
        { name, title, own, description },
        {
          name: 'helper',
          title: 'Helper',
          own: '1.2.3',
          description: 'Helps.',
        },
      )
    }
  },
)

test(
  cites(
    'AAP-META-04',
    'AAP-META-05',
    'AAP-META-06',
    'tools are listed with their schema, hidden ones are not',
  ),
  async t => {
    const at = await rig(t)
    const toolsAt = async (base: string) =>
      (
        (await (await at.request('GET', `${base}/meta`)).json()) as {
          agents: [{ tools: { name: string }[] }]
        }
      ).agents[0].tools
    const schema = { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] }
    assert.deepEqual((await toolsAt('/aap/v3'))[0], {
      name: 'search',
      title: 'Search',
      description: 'Finds documents.',
      parameters: schema,
    })
    for (const base of ['/aap/v1', '/aap/v2'])
      assert.deepEqual((await toolsAt(base))[0], {
        name: 'search',
        title: 'Search',
        description: 'Finds documents.',
        inputSchema: schema,
      })
    const names = (await toolsAt('')).map(({ name }) => name)
    assert.ok(names.includes('mail') && !names.includes('hidden'))
  },
)

test(
  cites(
    'AAP-META-07',
    'AAP-META-08',
    'AAP-META-09',
    'options are described, without the default of a secret',
  ),
  async t => {
    const at = await rig(t, {
      agent: {
        options: [
          { name: 'city', type: 'text', title: 'City', description: 'Where.', default: 'Paris' },
          { name: 'tone', type: 'select', default: 'warm', options: ['warm', 'dry'] },
          { name: 'key', type: 'secret', default: 'sk-CANARY' },
        ],
      },
    })
    const answer = await (await at.request('GET', '/meta')).text()
    assert.deepEqual(JSON.parse(answer).agents[0].options, [
      { name: 'city', type: 'text', title: 'City', description: 'Where.', default: 'Paris' },
      { name: 'tone', type: 'select', default: 'warm', options: ['warm', 'dry'] },
      { name: 'key', type: 'secret', default: '***' },
    ])
    assert.ok(!answer.includes('CANARY'))
  },
)

test(
  cites(
    'AAP-META-10',
    'AAP-META-11',
    'AAP-META-12',
    'AAP-META-13',
    'AAP-META-14',
    'AAP-META-15',
    'capabilities are those of the agent, and a server may have several agents or none',
  ),
  async t => {
    const plain = {
      name: 'plain',
      clientTools: false,
      fullHistory: false,
      images: { http: false, data: true },
    }
    const agents = [agentOf({}, []), agentOf({ agent: plain }, [])]
    const at = await rig(t, { agents })
    const meta = (await (await at.request('GET', '/meta')).json()) as Meta
    const stream = { delta: {}, message: {}, none: {} }
    assert.deepEqual(
      meta.agents.map(({ name, capabilities }) => [name, capabilities]),
      [
        [
          'helper',
          {
            history: { compacted: {}, full: {} },
            stream,
            application: { tools: {} },
            image: { http: {}, data: {} },
          },
        ],
        ['plain', { history: { compacted: {} }, stream, image: { data: {} } }],
      ],
    )
    const none = await rig(t, { agents: [] })
    assert.deepEqual(await (await none.request('GET', '/meta')).json(), { version: 3, agents: [] })
  },
)
