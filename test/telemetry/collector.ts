// A collector that takes OTLP over HTTP as JSON, as the specification has it, and refuses what is malformed: ids of the wrong
// length, times that run backwards, values without a type. No real collector is a package of npm or Debian.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export type CollectedSpan = {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId: string
  attributes: Record<string, unknown>
  failed: boolean
}

export type Collector = {
  url: string
  spans: CollectedSpan[]
  /** Data points of metrics: their attributes, by the metric's name. */
  metrics: Map<string, Record<string, unknown>[]>
  resources: Record<string, unknown>[]
  /** Why requests were refused. */
  refused: string[]
}

type Fields = Record<string, unknown>

export async function startCollector(t: Pick<TestContext, 'after'>): Promise<Collector> {
  const collector: Collector = { url: '', spans: [], metrics: new Map(), resources: [], refused: [] }
  const server = createServer((request, response) => {
    void readBody(request).then(body => {
      try {
        assert.equal(request.method, 'POST')
        assert.match(request.headers['content-type'] ?? '', /^application\/json/)
        const sent = JSON.parse(body) as Fields
        if (request.url === '/v1/traces') takeTraces(collector, sent)
        else if (request.url === '/v1/metrics') takeMetrics(collector, sent)
        else assert.fail(`no such path: ${request.url}`)
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
      } catch (error) {
        collector.refused.push(String(error))
        response.writeHead(400).end()
      }
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return collector
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const list = (value: unknown): Fields[] => {
  assert.ok(Array.isArray(value), 'a list is missing')
  return value as Fields[]
}

function takeTraces(collector: Collector, sent: Fields): void {
  for (const resourceSpans of list(sent['resourceSpans'])) {
    takeResource(collector, resourceSpans)
    for (const scope of list(resourceSpans['scopeSpans']))
      for (const span of list(scope['spans'])) collector.spans.push(spanOf(span))
  }
}

function takeResource(collector: Collector, within: Fields): void {
  collector.resources.push(attributesOf((within['resource'] as Fields)['attributes']))
}

function spanOf(span: Fields): CollectedSpan {
  const { traceId, spanId, parentSpanId = '', name, kind, startTimeUnixNano, endTimeUnixNano } = span
  assert.match(String(traceId), /^[\da-f]{32}$/)
  assert.match(String(spanId), /^[\da-f]{16}$/)
  assert.match(String(parentSpanId), /^([\da-f]{16})?$/)
  assert.ok(typeof name === 'string' && name !== '')
  assert.ok(
    BigInt(String(endTimeUnixNano)) >= BigInt(String(startTimeUnixNano)),
    `${name} ends before it starts`,
  )
  const status = (span['status'] ?? {}) as Fields
  return {
    name,
    kind: Number(kind),
    traceId: String(traceId),
    spanId: String(spanId),
    parentSpanId: String(parentSpanId),
    attributes: attributesOf(span['attributes']),
    failed: status['code'] === 2,
  }
}

function takeMetrics(collector: Collector, sent: Fields): void {
  for (const resourceMetrics of list(sent['resourceMetrics'])) {
    takeResource(collector, resourceMetrics)
    for (const scope of list(resourceMetrics['scopeMetrics']))
      for (const metric of list(scope['metrics'])) {
        const { points } = { points: list((metric['histogram'] as Fields)['dataPoints']) }
        const known = collector.metrics.get(String(metric['name'])) ?? []
        collector.metrics.set(String(metric['name']), [
          ...known,
          ...points.map(point => attributesOf(point['attributes'])),
        ])
      }
  }
}

function attributesOf(given: unknown): Record<string, unknown> {
  return Object.fromEntries(
    list(given ?? []).map(({ key, value }) => [String(key), typedValue(value as Fields)]),
  )
}

function typedValue(value: Fields): unknown {
  if ('stringValue' in value) return value['stringValue']
  if ('intValue' in value) return Number(value['intValue'])
  if ('doubleValue' in value) return value['doubleValue']
  if ('boolValue' in value) return value['boolValue']
  if ('arrayValue' in value) return list((value['arrayValue'] as Fields)['values']).map(typedValue)
  return assert.fail(`a value without a type: ${JSON.stringify(value)}`)
}
