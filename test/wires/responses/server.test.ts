// The wire on the server as it is shipped: keys, the store on disk, and the operator's configuration.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { newKey } from '../../../src/callers/keys.ts'
import { checkConfig } from '../../../src/config/check-config.ts'
import type { TurnwireConfig } from '../../../src/config/config.ts'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { rehearsal } from '../../../src/models/rehearsal/index.ts'
import { type Running, startServer } from '../../../src/server/server.ts'
import { tool } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { type Body, ok, refused } from './rig.ts'

const { key, entry } = newKey('ana')
const other = newKey('bob')

function configOf(data: string, runs: unknown[], serverTools: boolean): TurnwireConfig {
  return {
    data,
    server: { keys: [entry, other.entry], log: 'silent' },
    models: { swift: rehearsal() },
    agents: [
      {
        name: 'helper',
        model: rehearsal(),
        responses: { serverTools },
        tools: [
          tool({
            name: 'get_weather',
            description: 'The weather in a city.',
            input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            trust: 'trusted',
            run: input => {
              runs.push(input)
              return 'rainy'
            },
          }),
        ],
      },
    ],
  }
}

async function start(t: TestContext, config: TurnwireConfig): Promise<Running> {
  const running = await startServer(await Turnwire.open(config), { port: 0 })
  t.after(() => running.stop())
  return running
}

const asked = (url: string, path: string, body?: object, token = key): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(body && { body: JSON.stringify(body) }),
  })

test(
  cites(
    'RESP-STOR-02',
    'RESP-STOR-13',
    'RESP-HOST-01',
    'a response is stored on disk, for the owner of the key, across a restart',
  ),
  async t => {
    const data = mkdtempSync(join(tmpdir(), 'responses-'))
    t.after(() => rmSync(data, { recursive: true, force: true }))
    const runs: unknown[] = []
    const first = await start(t, configOf(data, runs, true))
    const made: Body = await ok(
      asked(first.url, '/v1/responses', {
        model: 'helper',
        store: true,
        input: 'What is the weather in Paris?',
      }),
    )
    assert.deepEqual(runs, [{ city: 'Paris' }])
    assert.ok(made.output.some(item => item.type === 'mcp_call'))
    await first.stop()
    const second = await start(t, configOf(data, runs, true))
    assert.deepEqual(await ok(asked(second.url, `/v1/responses/${made.id}`)), made)
    assert.equal(
      (await refused(asked(second.url, `/v1/responses/${made.id}`, undefined, other.key))).status,
      404,
    )
    const next = await ok(
      asked(second.url, '/v1/responses', {
        model: 'helper',
        previous_response_id: made.id,
        input: 'Thanks.',
      }),
    )
    assert.deepEqual(next.conversation, made.conversation)
  },
)

test(
  cites(
    'RESP-TOOL-09',
    'RESP-HOST-04',
    'no server tool runs in stateless responses, or unless the operator allows it',
  ),
  async t => {
    const runs: unknown[] = []
    const allowed = await start(t, configOf('memory', runs, true))
    const refusing = await start(t, configOf('memory', runs, false))
    const input = 'What is the weather in Paris?'
    await ok(asked(allowed.url, '/v1/responses', { model: 'helper', input, store: false }))
    await ok(asked(refusing.url, '/v1/responses', { model: 'helper', input, store: true }))
    assert.deepEqual(runs, [])
  },
)

test(cites('RESP-ERR-01', 'RESP-MODL-01', 'a request without a key gets an error object'), async t => {
  const { url } = await start(t, configOf('memory', [], false))
  const error = await refused(asked(url, '/v1/responses', { model: 'helper', input: 'x' }, 'wrong'))
  assert.deepEqual([error.status, error.code], [401, 'invalid_api_key'])
  const models = (await (await asked(url, '/v1/models')).json()) as { data: { id: string }[] }
  assert.deepEqual(
    models.data.map(model => model.id),
    ['helper', 'swift'],
  )
})

test(cites('RESP-HOST-04', 'the setting serverTools is checked'), () => {
  const config = { ...configOf('memory', [], false) }
  const wrong = { ...config, agents: [{ ...config.agents[0], responses: { serverTools: 'yes' } }] }
  assert.throws(() => checkConfig(wrong, 'test'), /agents\[0\]\.responses\.serverTools: must be a boolean/)
})

test('an idle connection is kept for longer than proxies keep theirs', async t => {
  const data = mkdtempSync(join(tmpdir(), 'turnwire-'))
  t.after(() => rmSync(data, { recursive: true, force: true }))
  const { url } = await start(t, configOf(data, [], false))
  const [, seconds] =
    /timeout=(\d+)/.exec((await asked(url, '/v1/models')).headers.get('keep-alive') ?? '') ?? []
  assert.ok(Number(seconds) > 60, `${seconds} seconds`)
})
