// Operations of an API that say what became of a call, and that undo it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ReconcileContext, Tool, UndoContext } from '../../../src/engine/ports/index.ts'
import type { Outcome } from '../../../src/language/calls.ts'
import { http, openapi } from '../../../src/tools/index.ts'
import { type Api, startApi } from './api-rig.ts'

const input = { type: 'object', properties: { item: { type: 'string' } } }
const outcome: Outcome = {
  kind: 'ok',
  parts: [{ type: 'text', text: '{}' }],
  structured: { id: 'o/7', lines: { first: 3 } },
  from: { source: 'tool', tool: 'order' },
}

function asked(api: Api, reference?: string): ReconcileContext {
  const context = api.context()
  return { ...context, callId: 'call_1', key: 'key 1', ...(reference !== undefined && { reference }) }
}

const undoing = (api: Api): UndoContext => ({ ...api.context(), undoes: 'call_1' })

function order({ url }: Api, more: Partial<Parameters<typeof http>[0]>): Tool {
  return http({ name: 'order', description: 'Orders.', method: 'POST', url: `${url}/orders`, input, ...more })
}

describe('http()', () => {
  test('asks by the key of the call: 2xx ran, 404 and 410 did not, anything else is not known', async t => {
    const api = await startApi(t)
    const made = order(api, {
      auth: { bearer: 'secret-token' },
      reconcile: {
        url: `${api.url}/orders/by-key/{call.key}`,
        send: { item: 'item', ref: 'call.reference' },
      },
    })
    const ask = (): unknown => made.reconcile?.({ item: 'tea' }, asked(api, 'r1'))
    const ran = (await ask()) as { ran: { structured?: unknown } }
    assert.equal(api.seen[0]?.url, '/orders/by-key/key%201?item=tea&ref=r1')
    assert.equal(api.seen[0]?.headers['authorization'], 'Bearer secret-token')
    assert.ok(ran.ran.structured)
    for (const [status, answer] of [
      [404, 'did-not-run'],
      [410, 'did-not-run'],
      [403, 'unknown'],
    ] as const) {
      api.answer = () => ({ status })
      assert.equal(await ask(), answer)
    }
    api.answer = () => ({ status: 503 })
    await assert.rejects(async () => ask())
  })

  test('undoes with the result of the call; a path keeps its segments', async t => {
    const api = await startApi(t)
    const made = order(api, { undo: { method: 'DELETE', url: `${api.url}/orders/{result.id}` } })
    await made.undo?.run({ item: 'tea' }, outcome, undoing(api))
    assert.deepEqual([api.seen[0]?.method, api.seen[0]?.url], ['DELETE', '/orders/o%2F7'])
    assert.equal(made.undo?.idempotent, true)
  })

  test('undoes with a body', async t => {
    const api = await startApi(t)
    const made = order(api, {
      undo: {
        url: `${api.url}/refunds`,
        send: { order: 'result.id', line: 'result.lines.first', what: 'item' },
      },
    })
    await made.undo?.run({ item: 'tea' }, outcome, undoing(api))
    assert.deepEqual(
      [api.seen[0]?.method, JSON.parse(api.seen[0]?.body ?? '')],
      ['POST', { order: 'o/7', line: 3, what: 'tea' }],
    )
    assert.equal(made.undo?.idempotent, false)
  })

  test('a value that is not there sends no request', async t => {
    const api = await startApi(t)
    const made = order(api, { undo: { method: 'DELETE', url: `${api.url}/orders/{result.number}` } })
    await assert.rejects(async () => made.undo?.run({}, outcome, undoing(api)), /missing/)
    assert.equal(api.seen.length, 0)
  })

  test('a host that depends on the call is refused when the tool is made', async t => {
    const api = await startApi(t)
    assert.throws(() => order(api, { undo: { url: 'https://{result.host}/x' } }), /place in the host/)
  })
})

describe('openapi()', () => {
  const operation = (operationId: string, parameters: object[] = []): object => ({
    operationId,
    parameters,
    responses: { 200: { description: 'ok' } },
  })
  const path = (name: string): object => ({ name, in: 'path', required: true, schema: { type: 'string' } })
  const document = (url: string) =>
    JSON.stringify({
      openapi: '3.1.0',
      info: { title: 'Shop', version: '1' },
      servers: [{ url }],
      paths: {
        '/orders/{item}': { post: operation('createOrder', [path('item')]) },
        '/order/{orderId}': {
          get: operation('getOrder', [path('orderId')]),
          delete: operation('deleteOrder', [path('orderId')]),
        },
      },
    })

  test('names operations for both, which need not be tools', async t => {
    const api = await startApi(t)
    const [made, ...others] = openapi(document(api.url), {
      include: ['createOrder'],
      reconcile: { createOrder: { operation: 'getOrder', values: { orderId: 'call.key' } } },
      undo: { createOrder: { operation: 'deleteOrder', values: { orderId: 'result.id' } } },
    })
    assert.equal(others.length, 0)
    await made?.reconcile?.({ item: 'tea' }, asked(api))
    await made?.undo?.run({ item: 'tea' }, outcome, undoing(api))
    assert.deepEqual(
      api.seen.map(({ method, url }) => `${method} ${url}`),
      ['GET /order/key%201', 'DELETE /order/o%2F7'],
    )
  })

  test('a name that does not exist, or asks with something else than a GET, is refused', async t => {
    const { url } = await startApi(t)
    assert.throws(
      () => openapi(document(url), { undo: { createOrder: 'nothing' } }),
      /no operation "nothing"/,
    )
    assert.throws(
      () => openapi(document(url), { undo: { nothing: 'deleteOrder' } }),
      /no operation "nothing"/,
    )
    assert.throws(
      () => openapi(document(url), { reconcile: { createOrder: 'deleteOrder' } }),
      /an operation that is no GET/,
    )
  })
})
