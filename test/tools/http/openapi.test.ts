import assert from 'node:assert/strict'
import test from 'node:test'
import { stringify } from 'yaml'
import type { Json, JsonObject } from '../../../src/lib/json/index.ts'
import { compileSchema } from '../../../src/lib/schema/index.ts'
import { openapi } from '../../../src/tools/index.ts'
import { startApi } from './api-rig.ts'

const listParameters = [
  { name: 'status', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
  {
    name: 'tags',
    in: 'query',
    style: 'pipeDelimited',
    explode: false,
    schema: { type: 'array', items: { type: 'string' } },
  },
  { name: 'filter', in: 'query', style: 'deepObject', explode: true, schema: { type: 'object' } },
  { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
  { name: 'theme', in: 'cookie', schema: { type: 'string' } },
  { name: 'Authorization', in: 'header', schema: { type: 'string' } },
]

const pet: JsonObject = {
  type: 'object',
  required: ['id', 'name'],
  properties: {
    id: { type: 'integer', readOnly: true },
    name: { type: 'string', maxLength: 20 },
    age: { type: 'integer', minimum: 0, exclusiveMinimum: true, nullable: true },
    mother: { $ref: '#/components/schemas/Pet' },
  },
}

function petStore(url: string, changes: JsonObject = {}): JsonObject {
  return {
    openapi: '3.0.3',
    info: { title: 'Pets', version: '1' },
    servers: [{ url: `${url}/{version}`, variables: { version: { default: 'v1' } } }],
    security: [{ token: [] }],
    paths: {
      '/pets': {
        get: { operationId: 'listPets', summary: 'Lists pets', security: [], parameters: listParameters },
        post: {
          operationId: 'addPet',
          description: 'Adds a pet.',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
          },
        },
      },
      '/pets/{petId}': {
        parameters: [{ $ref: '#/components/parameters/petId' }],
        get: { parameters: [{ name: 'petId', in: 'query', schema: { type: 'string' } }] },
        put: { operationId: 'replacePet', security: [{ other: [] }, { user: [], key: [] }] },
        delete: { operationId: 'removePet' },
      },
    },
    components: {
      parameters: { petId: { name: 'petId', in: 'path', required: true, schema: { type: 'integer' } } },
      schemas: { Pet: pet },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        user: { type: 'http', scheme: 'basic' },
        key: { type: 'apiKey', in: 'query', name: 'api_key' },
        other: { type: 'oauth2', flows: {} },
      },
    },
    ...changes,
  }
}

const auth = { token: 'sk-token', user: { user: 'me', password: 'password' }, key: 'sk-key' }

test('each operation becomes a tool with its schema, kind and promises', async t => {
  const api = await startApi(t)
  const tools = openapi(petStore(api.url), { auth, prefix: 'pets_', trust: 'trusted', retries: 2 })
  const seen = tools.map(({ name, kind, readOnly, idempotent, retries }) => [
    name,
    kind,
    readOnly,
    idempotent,
    retries,
  ])
  assert.deepEqual(seen, [
    ['pets_listPets', 'fetch', true, true, 2],
    ['pets_addPet', 'execute', false, false, 0],
    ['pets_get_pets_petId', 'fetch', true, true, 2],
    ['pets_replacePet', 'execute', false, true, 2],
    ['pets_removePet', 'delete', false, true, 2],
  ])
  assert.equal(tools[0]?.title, 'Lists pets')
  assert.equal(tools[1]?.description, 'Adds a pet.')
})

test('parameters are placed as declared', async t => {
  const api = await startApi(t)
  const [list] = openapi(petStore(api.url), { include: ['listPets'] })
  const input: Json = {
    status: ['new', 'sold'],
    tags: ['a', 'b'],
    filter: { age: 3, sort: 'name' },
    'X-Trace': 'abc',
    theme: 'dark mode',
  }
  await list?.run(input, api.context())
  const [seen] = api.seen
  assert.equal(
    decodeURIComponent(seen?.url ?? ''),
    '/v1/pets?status=new&status=sold&tags=a|b&filter[age]=3&filter[sort]=name',
  )
  assert.equal(seen?.headers['x-trace'], 'abc')
  assert.equal(seen?.headers['cookie'], 'theme=dark%20mode')
  assert.equal(seen?.headers['authorization'], undefined, 'this operation needs no credentials')
})

test('a parameter that the document declares as JSON is written as JSON', async t => {
  const api = await startApi(t)
  const content = {
    'application/json': { schema: { type: 'object', properties: { a: { type: 'integer' } } } },
  }
  const places = ['query', 'header', 'cookie'].map(where => ({ name: `in-${where}`, in: where, content }))
  const paths = { '/find': { get: { operationId: 'find', parameters: places } } }
  const [find] = openapi(petStore(api.url, { paths, security: [] }))
  const value = { a: 1, b: 'x y' }
  await find?.run({ 'in-query': value, 'in-header': value, 'in-cookie': value }, api.context())
  const [seen] = api.seen
  assert.equal(new URL(seen?.url ?? '', api.url).searchParams.get('in-query'), JSON.stringify(value))
  assert.equal(seen?.headers['in-header'], JSON.stringify(value))
  assert.equal(seen?.headers['cookie'], `in-cookie=${encodeURIComponent(JSON.stringify(value))}`)
})

test('idempotency keys are sent where the document or the options say so, and no model chooses them', async t => {
  const api = await startApi(t)
  const declared = { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string' } }
  const paths = {
    '/pay': { post: { operationId: 'pay', parameters: [declared] }, get: { operationId: 'payments' } },
    '/mail': { post: { operationId: 'mail' } },
  }
  const document = petStore(api.url, { paths, security: [] })
  const [payments, pay, mail] = openapi(document)
  assert.ok(pay?.input.form === 'json')
  assert.deepEqual(pay.input.schema, { type: 'object', properties: {}, additionalProperties: false })
  assert.deepEqual([pay.idempotent, mail?.idempotent, payments?.readOnly], [true, false, true])
  const keyOf = async (tool = pay): Promise<unknown> => {
    await tool.run({}, api.context({ idempotencyKey: 'call-7' }))
    return api.seen.at(-1)?.headers['idempotency-key']
  }
  assert.deepEqual(
    [await keyOf(pay), await keyOf(mail), await keyOf(payments)],
    ['call-7', undefined, undefined],
  )
  const all = openapi(document, { idempotencyHeader: 'Idempotency-Key' })
  assert.deepEqual(
    all.map(({ name, idempotent }) => [name, idempotent]),
    [
      ['payments', true],
      ['pay', true],
      ['mail', true],
    ],
  )
  assert.deepEqual([await keyOf(all[2]), await keyOf(all[0])], ['call-7', undefined])
})

test('two parameters of the same name have arguments of their own', async t => {
  const api = await startApi(t)
  const [get] = openapi(petStore(api.url), { include: ['GET /pets/{petId}'], auth })
  await get?.run({ petId: 7, query_petId: 'x' }, api.context())
  assert.equal(api.seen[0]?.url, '/v1/pets/7?petId=x')
  assert.equal(api.seen[0]?.headers['authorization'], 'Bearer sk-token')
})

test('the first demand that the credentials meet is met', async t => {
  const api = await startApi(t)
  const [replace] = openapi(petStore(api.url), { include: ['replacePet'], auth })
  await replace?.run({ petId: 7 }, api.context())
  assert.equal(api.seen[0]?.url, '/v1/pets/7?api_key=sk-key')
  assert.equal(
    api.seen[0]?.headers['authorization'],
    `Basic ${Buffer.from('me:password').toString('base64')}`,
  )
})

test('a body has the schema of what is sent: recursive, nullable, without what only the server sets', async t => {
  const api = await startApi(t)
  const [add] = openapi(petStore(api.url), { include: ['addPet'], auth })
  assert.ok(add?.input.form === 'json')
  const schema = compileSchema(add.input.schema)
  assert.equal(schema.check({ body: { name: 'Rex', age: null, mother: { name: 'Ada', age: 3 } } }), null)
  for (const body of [{}, { name: 'Rex', age: 0 }, { name: 'Rex', mother: {} }, { name: 'x'.repeat(21) }])
    assert.notEqual(schema.check({ body }), null, JSON.stringify(body))
  await add.run({ body: { name: 'Rex' } }, api.context())
  assert.equal(api.seen[0]?.headers['content-type'], 'application/json')
  assert.equal(api.seen[0]?.body, '{"name":"Rex"}')
})

test('a document of 3.1, as YAML text, with a form', async t => {
  const api = await startApi(t)
  const document = petStore(api.url, {
    openapi: '3.1.0',
    security: [],
    paths: {
      '/login': {
        post: {
          operationId: 'login',
          requestBody: {
            content: {
              'application/x-www-form-urlencoded': {
                schema: {
                  type: 'object',
                  properties: { user: { type: ['string', 'null'] }, age: { exclusiveMinimum: 0 } },
                },
              },
            },
          },
        },
      },
    },
  })
  const [login] = openapi(stringify(document))
  await login?.run({ body: { user: 'a&b', age: 3 } }, api.context())
  assert.equal(api.seen[0]?.body, 'user=a%26b&age=3')
})

test('what cannot be used is refused with what to do', () => {
  const refused = (document: JsonObject | string, options: object, words: RegExp): void =>
    assert.throws(() => openapi(document, options), words)
  const document = petStore('https://api.example.com')
  refused({ swagger: '2.0' }, {}, /convert it to OpenAPI 3/)
  refused('{ not: [json', {}, /neither JSON nor YAML/)
  refused(
    'https://api.example.com/openapi.json',
    {},
    /Give the document itself: openapi\(await \(await fetch/,
  )
  refused('./api/pets.yaml', {}, /Give the document itself: .*readFileSync/)
  refused(document, { include: ['nope'] }, /no operation "nope"; there are: listPets, addPet/)
  refused(document, { includes: [] }, /no option "includes"/)
  refused(document, {}, /demands credentials for "addPet": give "auth" for "token"/)
  refused(petStore('', { servers: [{ url: '/v1' }] }), { auth }, /name the whole address in "baseUrl"/)
  const upload = {
    operationId: 'upload',
    requestBody: { content: { 'multipart/form-data': { schema: {} } } },
  }
  refused({ ...document, paths: { '/x': { post: upload } } }, { auth }, /exclude: \['upload'\]/)
  const ahead = {
    operationId: 'ahead',
    parameters: [{ name: 'q', in: 'query', schema: { type: 'string', pattern: '^(?!x)' } }],
  }
  const reason = /looks ahead or behind.*leave this operation out with exclude: \["ahead"\]/
  refused({ ...document, paths: { '/x': { get: ahead } } }, { auth }, reason)
  const xml = { operationId: 'xml', parameters: [{ name: 'q', in: 'query', content: { 'text/xml': {} } }] }
  refused({ ...document, paths: { '/x': { get: xml } } }, { auth }, /parameter "q" is text\/xml/)
  const matrix = { operationId: 'm', parameters: [{ name: 'q', in: 'path', style: 'matrix' }] }
  refused({ ...document, paths: { '/x/{q}': { get: matrix } } }, { auth }, /has the style "matrix"/)
  const remote = { parameters: [{ $ref: 'http://169.254.169.254/x.json' }] }
  refused({ ...document, paths: { '/x': { get: remote } } }, { auth }, /refers to another document/)
  const twice = { '/a': { get: { operationId: 'a' } }, '/b': { get: { operationId: 'a' } } }
  refused({ ...document, paths: twice }, { auth }, /names are the same/)
})

test('keys of an object put no cookie and no parameter beside those that are meant', async t => {
  const api = await startApi(t)
  const exploded = { style: 'form', explode: true, schema: { type: 'object' } }
  const document = {
    openapi: '3.0.3',
    info: { title: 'Shop', version: '1' },
    servers: [{ url: api.url }],
    security: [{ session: [], key: [] }],
    paths: {
      '/x': {
        get: {
          operationId: 'look',
          parameters: [
            { name: 'prefs', in: 'cookie', ...exploded },
            { name: 'more', in: 'query', ...exploded },
            { name: 'page', in: 'query', schema: { type: 'string' } },
            { name: 'filter', in: 'query', style: 'deepObject', explode: true, schema: { type: 'object' } },
          ],
        },
      },
    },
    components: {
      securitySchemes: {
        session: { type: 'apiKey', in: 'cookie', name: 'sid' },
        key: { type: 'apiKey', in: 'query', name: 'api_key' },
      },
    },
  }
  const [look] = openapi(document, { auth: { session: 'secret-of-operator', key: 'key-of-operator' } })
  await look?.run(
    { prefs: { 'a=1; admin': 'yes; root=1', 'b\r\nX-Evil: 1': '2', theme: 'dark' } },
    api.context(),
  )
  assert.equal(
    api.seen.at(-1)?.headers['cookie'],
    'a%3D1%3B%20admin=yes%3B%20root%3D1; b%0D%0AX-Evil%3A%201=2; theme=dark; sid=secret-of-operator',
  )
  const before = api.seen.length
  for (const input of [
    { prefs: { sid: 'of-the-model' } },
    { more: { api_key: 'of-the-model' } },
    { more: { page: '2' } },
    { filter: { 'a][admin': '1' } },
  ])
    await assert.rejects(
      async () => look?.run(input, api.context()),
      /cannot have the key/,
      JSON.stringify(input),
    )
  assert.equal(api.seen.length, before)
})
