import assert from 'node:assert/strict'
import test from 'node:test'
import { z } from 'zod'
import { InvalidInput } from '../../../src/engine/ports/index.ts'
import { scripted, Turnwire } from '../../../src/index.ts'
import { http } from '../../../src/tools/index.ts'
import { shown, startApi } from './api-rig.ts'

const order = { name: 'order', description: 'One order.' }

test('arguments go into the path, and the rest into the query', async t => {
  const api = await startApi(t)
  const tool = http({
    ...order,
    url: `${api.url}/orders/{id}`,
    input: z.object({ id: z.string(), expand: z.array(z.string()).optional(), page: z.int().optional() }),
  })
  assert.deepEqual([tool.kind, tool.readOnly, tool.trust], ['fetch', true, 'ask'])
  const output = await tool.run({ id: 'a/b ?#', expand: ['x', 'y'], page: 2 }, api.context())
  assert.equal(api.seen[0]?.url, '/orders/a%2Fb%20%3F%23?expand=x&expand=y&page=2')
  assert.equal((output.structured as { method: string }).method, 'GET')
})

test('a value cannot climb out of its place in the path or in a header', async t => {
  const api = await startApi(t)
  const tool = http({
    ...order,
    url: `${api.url}/orders/{id}`,
    headerArguments: { 'x-region': 'region' },
    input: z.object({ id: z.string(), region: z.string().optional() }),
  })
  for (const id of ['..', '.', ''])
    await assert.rejects(async () => tool.run({ id }, api.context()), InvalidInput)
  await assert.rejects(async () => tool.run({ id: '1', region: 'a\r\nx: y' }, api.context()), InvalidInput)
  assert.equal(api.seen.length, 0)
  await tool.run({ id: '1', region: 'eu' }, api.context())
  assert.equal(api.seen[0]?.headers['x-region'], 'eu')
})

test('a method with a body sends the rest as JSON or as a form, with an idempotency key where the API has one', async t => {
  const api = await startApi(t)
  const input = z.object({ id: z.string(), note: z.string(), dry: z.boolean().optional() })
  const url = `${api.url}/orders/{id}/notes`
  const json = http({
    ...order,
    method: 'POST',
    url,
    input,
    query: ['dry'],
    idempotencyHeader: 'Idempotency-Key',
  })
  assert.deepEqual([json.kind, json.readOnly, json.idempotent], ['execute', false, true])
  await json.run({ id: '7', note: 'late', dry: true }, api.context({ idempotencyKey: 'call-7' }))
  const [first] = api.seen
  assert.equal(first?.url, '/orders/7/notes?dry=true')
  assert.deepEqual(JSON.parse(first?.body ?? ''), { note: 'late' })
  assert.equal(first?.headers['idempotency-key'], 'call-7')
  await http({ ...order, method: 'POST', url, input, body: 'form' }).run(
    { id: '7', note: 'a b' },
    api.context(),
  )
  assert.equal(api.seen[1]?.body, 'note=a+b')
  assert.equal(http({ ...order, method: 'POST', url, input }).idempotent, false)
})

test('credentials are sent, and are taken out of everything that comes back', async t => {
  const api = await startApi(t)
  const input = z.object({})
  const secret = 'sk-very/secret+1'
  const auths = [
    { bearer: secret },
    { bearer: () => Promise.resolve(secret) },
    { basic: { user: 'me', password: secret } },
    { apiKey: secret, name: 'X-Api-Key' },
    { apiKey: secret, name: 'key', in: 'query' as const },
    { apiKey: secret, name: 'sid', in: 'cookie' as const },
  ]
  for (const auth of auths) {
    const output = await http({ ...order, url: `${api.url}/`, input, auth }).run({}, api.context())
    const seen = JSON.stringify(api.seen.at(-1))
    const coded = Buffer.from(`me:${secret}`).toString('base64')
    assert.ok(
      [secret, encodeURIComponent(secret), coded].some(spelling => seen.includes(spelling)),
      'was sent',
    )
    for (const spelling of [secret, encodeURIComponent(secret), coded])
      assert.ok(!JSON.stringify(output).includes(spelling), `${JSON.stringify(auth)} shows ${spelling}`)
  }
})

test('a credential that the API sends back is in no event, no line of the log and no request to the model', async t => {
  const api = await startApi(t)
  const secret = 'sk-CANARY/4711+x'
  const auth = [{ bearer: () => secret }, { apiKey: secret, name: 'key', in: 'query' as const }]
  const tools = [200, 404, 500].map(status =>
    http({
      name: `get${status}`,
      description: 'x',
      url: `${api.url}/${status}`,
      input: z.object({}),
      auth,
      trust: 'trusted',
    }),
  )
  api.answer = seen => ({ status: Number(seen.url.slice(1, 4)) })
  const shown: string[] = []
  const calls = tools.map(({ name }) => ({ name, input: {} }))
  const turnwire = await Turnwire.open(
    {
      agents: [
        {
          name: 'a',
          tools,
          model: scripted((request, at) => {
            shown.push(JSON.stringify(request))
            return at === 0 ? { calls } : { text: 'Done.' }
          }),
        },
      ],
      egress: { privateHosts: [api.host] },
      data: 'memory',
    },
    { log: (...line) => void shown.push(JSON.stringify(line)) },
  )
  t.after(() => turnwire.close())
  const session = await turnwire.session('a')
  for await (const item of session.send('go')) shown.push(JSON.stringify(item))
  for await (const item of session.watch({ until: 'stop' })) shown.push(JSON.stringify(item))
  assert.equal(api.seen.length, 3)
  assert.ok(api.seen.every(({ headers }) => headers['authorization'] === `Bearer ${secret}`))
  // The answers say that something stood there.
  assert.ok(shown.some(line => line.includes('[secret]')))
  assert.doesNotMatch(shown.join('\n'), /CANARY/)
})

test('a failure of the network does not show the key that the address holds', async t => {
  const api = await startApi(t)
  const tool = http({
    ...order,
    url: 'http://10.0.0.1/x',
    input: z.object({}),
    auth: { apiKey: 'sk-secret', name: 'key', in: 'query' },
  })
  await assert.rejects(
    async () => tool.run({}, api.context()),
    error => /private address/.test(String(error)) && !String(error).includes('sk-secret'),
  )
})

test('a refusal of the API is a failed result; what may pass is thrown, so that the engine can repeat it', async t => {
  const api = await startApi(t)
  const tool = http({ ...order, url: `${api.url}/`, input: z.object({}) })
  api.answer = () => ({ status: 404, body: '{"error":"no such order"}' })
  const output = await tool.run({}, api.context())
  assert.equal(output.failed, true)
  assert.match(shown(output), /status 404.*no such order/s)
  for (const status of [429, 500, 503]) {
    api.answer = () => ({ status, body: 'busy' })
    await assert.rejects(async () => tool.run({}, api.context()), new RegExp(`status ${status}.*busy`, 's'))
  }
})

test('text, pictures, nothing and unknown bytes', async t => {
  const api = await startApi(t)
  const tool = http({ ...order, url: `${api.url}/`, input: z.object({}) })
  const png = Buffer.from('iVBORw0KGgo=', 'base64')
  api.answer = () => ({ type: 'image/png', body: png })
  assert.deepEqual((await tool.run({}, api.context())).parts, [
    { type: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' },
  ])
  api.answer = () => ({ type: 'text/html; charset=utf-8', body: '<p>Hello</p>' })
  assert.equal(shown(await tool.run({}, api.context())), '<p>Hello</p>')
  api.answer = () => ({ type: 'application/octet-stream', body: Buffer.alloc(10) })
  assert.match(shown(await tool.run({}, api.context())), /10 bytes of application\/octet-stream/)
  api.answer = () => ({ status: 204, body: '' })
  assert.match(shown(await tool.run({}, api.context())), /no content/)
})

test('mistakes in a definition are told when it is made', () => {
  const input = z.object({ id: z.string() })
  const wrong = (definition: object, words: RegExp): void => {
    const given = { ...order, url: 'https://api.example.com/{id}', input, ...definition }
    assert.throws(() => http(given), words)
  }
  wrong({ url: 'api.example.com/x' }, /http: or https: address/)
  wrong({ url: 'https://{id}.example.com/' }, /in the host of its url/)
  wrong({ url: 'https://api.example.com/?q={id}' }, /list the argument in "query"/)
  wrong({ url: 'https://api.example.com/{other}' }, /"other", which its input does not have/)
  wrong({ method: 'FETCH' }, /unknown method/)
  wrong({ token: 'x' }, /no member "token"/)
})

test('a long answer is a stream without secrets, wherever they are cut; a long failure is not', async t => {
  const api = await startApi(t)
  const secret = 'key-of-the-user-31'
  const tool = http({
    ...order,
    url: `${api.url}/log`,
    input: z.object({}),
    auth: { bearer: secret },
  })
  const lines = Array.from(
    { length: 150_000 },
    (_, index) => `${index} ${index % 997 === 0 ? secret : 'fine'}\n`,
  ).join('')
  api.answer = () => ({ type: 'text/plain', body: lines })
  const output = await tool.run({}, api.context())
  assert.deepEqual(output.parts, [])
  const chunks: Uint8Array[] = []
  for await (const chunk of output.stream ?? []) chunks.push(Buffer.from(chunk))
  const text = Buffer.concat(chunks).toString()
  assert.equal(text, lines.replaceAll(secret, '[secret]'))
  assert.ok(chunks.length > 3)

  const bytes = Buffer.from(Uint8Array.from({ length: 2_000_000 }, (_, index) => index % 251))
  api.answer = () => ({ type: 'application/octet-stream', body: bytes })
  const raw: Uint8Array[] = []
  for await (const chunk of (await tool.run({}, api.context())).stream ?? []) raw.push(Buffer.from(chunk))
  assert.ok(Buffer.concat(raw).equals(bytes))

  api.answer = () => ({ status: 404, type: 'text/plain', body: lines })
  const failed = await tool.run({}, api.context())
  assert.equal(failed.stream, undefined)
  assert.equal(failed.failed, true)
})
