// Each provider asks the right address in the right way, reads its key at first use, and says which variable to set.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import type { Model, ModelRequest } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { startDouble, type VendorName } from '../../testing/doubles/index.ts'
import { preparedFor } from '../run.ts'
import * as providers from './index.ts'

const KEY = 'sk-canary-0123456789'
const request: ModelRequest = {
  session: 's',
  history: [{ role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  tools: [],
  choice: 'auto',
  parallel: true,
  options: {},
}
const ask = (model: Model) => model.respond(request, () => {}, new AbortController().signal)
const {
  anthropic,
  azureOpenai,
  compatible,
  deepseek,
  gemini,
  geminiInteractions,
  groq,
  lmStudio,
  mistral,
  ollama,
  openai,
  openaiChat,
  openrouter,
  together,
  vertex,
  vllm,
  xai,
} = providers

describe('against the strict doubles', () => {
  const cases: [VendorName, string, (baseUrl: string) => Model][] = [
    ['anthropic', '', baseUrl => anthropic({ model: 'claude-test', apiKey: KEY, baseUrl, thinking: 'low' })],
    [
      'openai-responses',
      '/v1',
      baseUrl => openai({ model: 'gpt-test', apiKey: KEY, baseUrl, thinking: 'low' }),
    ],
    [
      'openai-chat',
      '/v1',
      baseUrl => openaiChat({ model: 'gpt-test', apiKey: () => KEY, baseUrl, thinking: 'low' }),
    ],
    [
      'gemini',
      '/v1beta',
      baseUrl => gemini({ model: 'gemini-3-test', apiKey: KEY, baseUrl, thinking: 'low' }),
    ],
    [
      'gemini-interactions',
      '/v1beta',
      baseUrl => geminiInteractions({ model: 'gemini-3-test', apiKey: KEY, baseUrl, thinking: 'low' }),
    ],
    ['openai-compatible', '/v1', baseUrl => openrouter({ model: 'a/b', apiKey: KEY, baseUrl })],
    ['openai-compatible', '/v1', url => compatible({ model: 'b', url, apiKey: KEY })],
  ]
  for (const [vendor, version, make] of cases)
    test(vendor, async context => {
      const double = await startDouble({ vendor, script: [{ text: 'Hello.' }], apiKey: KEY })
      context.after(() => double.close())
      const answer = await ask(make(double.url + version))
      assert.deepEqual(double.rejections(), [])
      assert.ok(answer.parts.some(part => part.type === 'text' && part.text === 'Hello.'))
      assert.ok(answer.origin !== undefined)
    })
})

describe('addresses and keys', () => {
  test('a deployment on Azure, by its version and without', async context => {
    const { endpoint, seen } = await recorder(context)
    const shared = { model: 'my deploy', apiKey: KEY, endpoint: `${endpoint}/`, limits: { retries: 0 } }
    for (const more of [{}, { api: 'chat' as const }, { apiVersion: '2026-01-01' }])
      await assert.rejects(ask(azureOpenai({ ...shared, ...more })))
    assert.deepEqual(
      seen.map(({ url }) => url),
      [
        '/openai/v1/responses',
        '/openai/v1/chat/completions',
        '/openai/deployments/my%20deploy/chat/completions?api-version=2026-01-01',
      ],
    )
    for (const { headers } of seen)
      assert.deepEqual([headers['api-key'], headers.authorization], [KEY, undefined])
  })

  test('a local server is asked without a key', async context => {
    const { endpoint, seen } = await recorder(context)
    for (const make of [ollama, lmStudio])
      await assert.rejects(ask(make({ model: 'm', baseUrl: `${endpoint}/v1`, limits: { retries: 0 } })))
    await assert.rejects(ask(compatible({ model: 'm', url: `${endpoint}/v1`, limits: { retries: 0 } })))
    assert.deepEqual(
      seen.map(({ url, headers }) => [url, headers.authorization]),
      Array.from({ length: 3 }, () => ['/v1/chat/completions', undefined]),
    )
  })

  test('a missing key names its variable at first use, not before', async context => {
    const makers = {
      anthropic,
      openai,
      openaiChat,
      azureOpenai,
      gemini,
      geminiInteractions,
      vertex,
      openrouter,
      groq,
      together,
      mistral,
      deepseek,
      xai,
    }
    const variables = Object.keys(process.env).filter(name => /_API_KEY$|^GOOGLE_|^AZURE_/.test(name))
    const kept = variables.map(name => [name, process.env[name]] as const)
    for (const name of variables) delete process.env[name]
    context.after(() => {
      for (const [name, value] of kept) if (value !== undefined) process.env[name] = value
    })
    for (const [name, make] of Object.entries(makers)) {
      const error: unknown = await ask(make({ model: 'm' })).catch((thrown: unknown) => thrown)
      assert.ok(error instanceof TurnwireError, name)
      assert.equal(error.code, 'model_rejected')
      assert.match(error.message, /set [A-Z_]+, or give \w+ to the model/)
    }
    assert.ok(vllm({ model: 'm' }).id === 'vllm/m')
  })

  test('the error of an apiKey function is not passed on', async () => {
    const apiKey = () => Promise.reject(new Error(`expired: ${KEY}`))
    await assert.rejects(ask(groq({ model: 'm', apiKey })), {
      code: 'model_failed',
      message: /apiKey function failed/,
    })
  })

  test('the key of the environment is read at each request', async context => {
    const { endpoint, seen } = await recorder(context)
    const model = groq({ model: 'm', baseUrl: endpoint, limits: { retries: 0 } })
    context.after(() => delete process.env['GROQ_API_KEY'])
    for (const key of ['first', ' second\n']) {
      process.env['GROQ_API_KEY'] = key
      await assert.rejects(ask(model))
    }
    assert.deepEqual(
      seen.map(({ headers }) => headers.authorization),
      ['Bearer first', 'Bearer second'],
    )
  })
})

describe('options', () => {
  const bodyOf = (model: Model) => JSON.parse(preparedFor(model, request)?.body ?? '{}')

  test('thinking becomes each vendor\u2019s own field', () => {
    const low = { model: 'm', thinking: 'low' }
    assert.deepEqual(bodyOf(anthropic(low)).thinking, { type: 'adaptive' })
    assert.deepEqual(bodyOf(openai(low)).reasoning, { effort: 'low', summary: 'auto' })
    assert.equal(bodyOf(openaiChat(low)).reasoning_effort, 'low')
    assert.equal(bodyOf(gemini(low)).generationConfig.thinkingConfig.thinkingLevel, 'low')
    assert.equal(bodyOf(geminiInteractions(low)).generation_config.thinking_level, 'low')
    assert.deepEqual(bodyOf(openrouter(low)).reasoning, { effort: 'low' })
    assert.deepEqual(bodyOf(anthropic({ model: 'm', thinking: { type: 'disabled' } })).thinking, {
      type: 'disabled',
    })
  })

  test('fields, limits, quirks and names', () => {
    const model = mistral({ model: 'mistral-large', body: { temperature: 0 }, maxTokens: 50, id: 'big' })
    const body = bodyOf(model)
    assert.deepEqual([body.temperature, body.max_tokens, body.stream_options], [0, 50, undefined])
    assert.equal(model.id, 'big')
    assert.equal(bodyOf(mistral({ model: 'm', maxTokens: 50, quirks: [] })).max_completion_tokens, 50)
    assert.equal('max_tokens' in bodyOf(vllm({ model: 'm' })), false)
  })

  test('one that the provider does not have is refused with the one that was meant', () => {
    // JavaScript can pass anything.
    const given = (options: object): never => options as never
    const cases: [() => unknown, RegExp][] = [
      [
        () => anthropic(given({ model: 'c', maxtokens: 5 })),
        /"anthropic" has no option "maxtokens"\. Did you mean "maxTokens"\?/,
      ],
      [
        () => openai(given({ model: 'g', temperature: 1 })),
        /"openai" has no option "temperature"\. A field of the vendor's own API goes into body: \{ temperature: … \}\. Known are: model/,
      ],
      [() => openai(given({ model: 'g', endpoint: 'https://x' })), /"openai" has no option "endpoint"/],
      [
        () => compatible(given({ model: 'm', baseUrl: 'http://127.0.0.1:1/v1' })),
        /"compatible" needs the address of the server/,
      ],
    ]
    for (const [make, words] of cases) assert.throws(make, { code: 'config_invalid', message: words })
    assert.ok(azureOpenai({ model: 'g', endpoint: 'https://x', apiVersion: '1', api: 'chat' }))
    assert.ok(vertex({ model: 'g', project: 'p', location: 'l' }))
  })

  test('families', () => {
    assert.equal(providers.modelFamily('claude-opus-9'), 'claude')
    assert.equal(providers.modelFamily('anthropic/claude-opus-9'), 'claude')
    assert.equal(providers.modelFamily('o4-mini'), 'gpt')
    assert.equal(providers.modelFamily('my-own'), 'my-own')
  })
})

async function recorder(context: TestContext) {
  const seen: { url: string | undefined; headers: NodeJS.Dict<string | string[]> }[] = []
  const server = createServer((incoming, response) => {
    seen.push({ url: incoming.url, headers: incoming.headers })
    response.writeHead(400).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  context.after(() => {
    server.close()
    server.closeAllConnections()
  })
  // A TCP server that listens has an AddressInfo; the string form is for pipes only.
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

describe('settings that depend on the model', () => {
  const bodyOf = (model: Model, over: Partial<ModelRequest> = {}) =>
    JSON.parse(preparedFor(model, { ...request, ...over })?.body ?? '{}')

  test('encrypted reasoning is requested only of models that reason', () => {
    for (const model of ['gpt-5', 'gpt-5.2-codex', 'o3', 'o4-mini', 'codex-mini-latest', 'gpt-6'])
      assert.deepEqual(bodyOf(openai({ model, apiKey: KEY })).include, ['reasoning.encrypted_content'], model)
    for (const model of ['gpt-4o', 'gpt-4.1-mini', 'gpt-3.5-turbo', 'gpt-5-chat-latest', 'ft:gpt-4o:acme::x'])
      assert.equal(bodyOf(openai({ model, apiKey: KEY })).include, undefined, model)
    const endpoint = 'https://x.openai.azure.com'
    assert.equal(bodyOf(azureOpenai({ model: 'gpt-4o', apiKey: KEY, endpoint })).include, undefined)
    const include = ['file_search_call.results', 'reasoning.encrypted_content']
    const asked = bodyOf(openai({ model: 'gpt-4o', apiKey: KEY, body: { include } }))
    assert.deepEqual(asked.include, ['file_search_call.results'])
  })

  test('without a token limit the vendor\u2019s own applies, except where the API requires one', () => {
    const limits = /max_?(?:output_?|completion_)?tokens/i
    const key = { apiKey: KEY }
    for (const model of [
      openai({ model: 'gpt-4o', ...key }),
      openaiChat({ model: 'gpt-4o', ...key }),
      gemini({ model: 'gemini-2.0-flash', ...key }),
      geminiInteractions({ model: 'gemini-3-pro', ...key }),
      groq({ model: 'llama', ...key }),
    ])
      assert.doesNotMatch(preparedFor(model, request)?.body ?? '', limits, model.id)
    assert.equal(bodyOf(anthropic({ model: 'claude-opus-4-1', ...key })).max_tokens, 32_000)
    const asked = bodyOf(anthropic({ model: 'claude-opus-4-1', ...key }), { maxTokens: 60_000 })
    assert.equal(asked.max_tokens, 60_000)
  })

  test('the context size is the operator\u2019s, else the vendor\u2019s for its own models, else absent', () => {
    const key = { apiKey: KEY }
    assert.equal(anthropic({ model: 'claude-haiku-4-5-20251001', ...key }).contextTokens, 200_000)
    assert.equal(openai({ model: 'gpt-4.1-mini', ...key }).contextTokens, 1_047_576)
    assert.equal(openai({ model: 'gpt-5', ...key }).contextTokens, 400_000)
    assert.equal(gemini({ model: 'gemini-2.5-flash', ...key }).contextTokens, 1_048_576)
    assert.equal(openai({ model: 'gpt-4.1', contextTokens: 9, ...key }).contextTokens, 9)
    for (const model of [
      anthropic({ model: 'claude-opus-5', ...key }),
      openai({ model: 'gpt-5.9', ...key }),
      groq({ model: 'gpt-4o', ...key }),
    ])
      assert.equal('contextTokens' in model, false, model.id)
  })
})
