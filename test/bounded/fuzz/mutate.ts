// Turns a request that a client would send into one that it would not. Everything comes from one seeded source of chance, so
// the number of a case and the seed give the same request again.
import type { Json, JsonObject } from '../../../src/lib/json/index.ts'
import type { Chance } from '../../sim/chance.ts'
import type { HttpRequest } from './requests.ts'

const MiB = 1024 * 1024

// ---- values -----------------------------------------------------------------------------------------------------

function deep(levels: number, list: boolean): Json {
  let value: Json = 'bottom'
  for (let level = 0; level < levels; level += 1) value = list ? [value] : { a: value }
  return value
}

const oddTexts = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\udc00x',
  '😀'.repeat(50),
  '\u202eabc',
  '\u2028\u2029\u0085',
  'e\u0301'.repeat(100),
  '__proto__',
  'constructor',
  'toString',
  '../../etc/passwd',
  '%00%0a%0d',
  "'; drop table sessions; --",
  '{{7*7}}',
  '\r\nx-injected: 1\r\n\r\n',
  'data:image/png;base64,@@@',
  'file:///etc/passwd',
  'http://169.254.169.254/',
  '(a+)+$',
  'NaN',
  '2026-13-45T99:99:99Z',
  '-1',
  '9'.repeat(400),
]

function oddValue(chance: Chance): Json {
  switch (chance.weighted({ text: 6, number: 4, plain: 5, nested: 2, wide: 2, long: 1 })) {
    case 'text':
      return chance.pick(oddTexts)
    case 'number':
      return chance.pick([0, -0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e300, 5e-324, 1e21, 65536])
    case 'plain':
      return chance.pick<Json>([null, true, false, [], {}, [[]], [null], { '': null }, [{}, []]])
    case 'nested':
      return deep(chance.pick([5, 30, 62, 70, 500]), chance.maybe(0.5))
    case 'wide':
      return chance.maybe(0.5)
        ? Array.from({ length: chance.pick([100, 3000, 20_000]) }, () => 0)
        : Object.fromEntries(Array.from({ length: chance.pick([50, 2000]) }, (_, n) => [`k${n}`, n]))
    default:
      return chance.pick(['x', 'é', '漢', '\n']).repeat(chance.pick([1000, 70_000, 400_000]))
  }
}

// ---- trees ------------------------------------------------------------------------------------------------------

type Place = { holder: JsonObject | Json[]; key: string | number }

function placesIn(value: Json, found: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return found
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  for (const key of keys) {
    found.push({ holder: value, key })
    placesIn((value as Record<string | number, Json>)[key] ?? null, found)
  }
  return found
}

const oddKeys = [
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'then',
  'toJSON',
  '',
  '0',
  'length',
  '\ud800',
]

function set(holder: JsonObject | Json[], key: string | number, value: Json): void {
  // An assignment would set the prototype.
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true })
}

/** A few megabytes in all are enough. */
function mostTimes(value: Json): number {
  return Math.ceil((2 * MiB) / JSON.stringify(value).length)
}

function mutateTree(body: Json, chance: Chance): void {
  const places = placesIn(body)
  if (places.length === 0) return
  const { holder, key } = chance.pick(places)
  const value = (holder as Record<string | number, Json>)[key] ?? null
  switch (chance.weighted({ replace: 8, drop: 4, wrap: 2, repeat: 2, add: 3, rename: 1, move: 1, cut: 1 })) {
    case 'replace':
      set(holder, key, oddValue(chance))
      break
    case 'drop':
      if (Array.isArray(holder)) holder.splice(Number(key), 1)
      else delete holder[key]
      break
    case 'wrap':
      set(holder, key, chance.maybe(0.5) ? [value] : { [chance.pick(oddKeys)]: value })
      break
    case 'repeat':
      set(
        holder,
        key,
        Array.from({ length: Math.min(chance.pick([2, 50, 1000]), mostTimes(value)) }, () =>
          structuredClone(value),
        ),
      )
      break
    case 'add':
      set(Array.isArray(holder) ? {} : holder, chance.pick([...oddKeys, 'extra']), oddValue(chance))
      break
    case 'rename':
      if (Array.isArray(holder)) break
      delete holder[key]
      set(holder, chance.pick(oddKeys), value)
      break
    case 'move': {
      const other = chance.pick(places)
      const moved = (other.holder as Record<string | number, Json>)[other.key] ?? null
      set(holder, key, structuredClone(moved))
      break
    }
    default:
      if (typeof value === 'string') set(holder, key, value.slice(0, chance.whole(0, value.length)))
  }
}

// ---- text -------------------------------------------------------------------------------------------------------

/** Text that is almost JSON. */
function mutateText(text: string, chance: Chance): Buffer {
  const at = chance.whole(0, text.length)
  const [before, after] = [text.slice(0, at), text.slice(at)]
  const insert = (piece: string): Buffer => Buffer.from(before + piece + after)
  const kinds = {
    truncate: 4,
    twice: 3,
    bytes: 3,
    piece: 4,
    bom: 1,
    utf16: 1,
    garbage: 2,
    empty: 1,
    deep: 1,
    values: 1,
  }
  switch (chance.weighted(kinds)) {
    case 'truncate':
      return Buffer.from(before)
    case 'twice':
      // The first key stands twice.
      return Buffer.from(text.replace(/^\{("(?:[^"\\]|\\.)*"):/, '{$1:0,$1:'))
    case 'bytes':
      return Buffer.concat([
        Buffer.from(before),
        Buffer.from(chance.pick([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0]])),
        Buffer.from(after),
      ])
    case 'piece':
      return insert(
        chance.pick([
          ',',
          '"',
          '\\',
          '{',
          ']',
          '\\u12',
          '1e999',
          'NaN',
          '/* */',
          ' '.repeat(10_000),
          '\t\n',
          '-',
          '0x1',
        ]),
      )
    case 'bom':
      return Buffer.from(`\ufeff${text}`)
    case 'utf16':
      return Buffer.from(text, 'utf16le')
    case 'garbage':
      return Buffer.from(Array.from({ length: chance.whole(1, 500) }, () => chance.whole(0, 255)))
    case 'empty':
      return Buffer.alloc(0)
    case 'deep':
      return Buffer.from(chance.pick(['[', '{"a":', '[{"a":']).repeat(chance.pick([100, 100_000])))
    default:
      return insert(`[${chance.pick(['{},', '0,', '"",', '[],']).repeat(chance.pick([10_000, 2 * MiB]))}0]`)
  }
}

export function mutateMessage(message: JsonObject, chance: Chance): Buffer {
  const copy = structuredClone(message)
  const times = chance.whole(0, 3)
  for (let count = 0; count < times; count += 1) mutateTree(copy, chance)
  const text = JSON.stringify(copy)
  return times === 0 || chance.maybe(0.2) ? mutateText(text, chance) : Buffer.from(text)
}

// ---- HTTP -------------------------------------------------------------------------------------------------------

export type RawRequest = {
  method: string
  path: string
  headers: [name: string, value: string][]
  body: Buffer
  /** Its framing is broken on purpose, so that the connection may close without an answer. */
  broken: boolean
}

const methods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const pathPieces = [
  '/',
  '//',
  '/..',
  '/%2e%2e',
  '/%00',
  '/%',
  '/%E0%A4%A',
  '/\\',
  '?',
  '?x',
  '#f',
  ';a=b',
  '/é',
  '/😀',
  '/:id',
  '/*',
  '/__proto__',
  '?key=k',
  '?after=-1',
  '?after=99999999999999999999',
  '?type=full&type=full',
  '?stream=maybe',
  `/${'x'.repeat(8000)}`,
  `?q=${'%20'.repeat(3000)}`,
]
const oddHeaders: [string, string][] = [
  ['content-type', 'text/plain'],
  ['content-type', 'application/json; charset=utf-16'],
  ['content-type', 'multipart/form-data; boundary=x'],
  ['content-type', ''],
  ['content-encoding', 'gzip'],
  ['content-encoding', 'identity'],
  ['transfer-encoding', 'gzip'],
  ['expect', '100-continue'],
  ['expect', 'x'],
  ['upgrade', 'h2c'],
  ['upgrade', 'websocket'],
  ['accept', 'image/*;q=0'],
  ['accept', ''],
  ['idempotency-key', ''],
  ['idempotency-key', 'é'],
  ['idempotency-key', 'k'.repeat(300)],
  ['last-event-id', '-5'],
  ['last-event-id', 'x'],
  ['last-event-id', '9'.repeat(40)],
  ['x-session-id', '../x'],
  ['x-session-id', ''],
  ['acp-connection-id', 'none'],
  ['acp-session-id', 'x'.repeat(5000)],
  ['anthropic-version', 'odd'],
  ['anthropic-beta', ','.repeat(2000)],
  ['origin', 'https://evil.test'],
  ['origin', 'null'],
  ['host', 'evil.test'],
  ['host', ''],
  ['authorization', 'Bearer x y'],
  ['authorization', 'Basic eDp5'],
  ['x-api-key', '\u00ff'],
  ['range', 'bytes=0-1'],
  ['cookie', 'a='.repeat(3000)],
  ['x-large', 'x'.repeat(20_000)],
]

function mutatePath(path: string, chance: Chance): string {
  const piece = chance.pick(pathPieces)
  const parts = path.split('/')
  const at = chance.whole(1, parts.length)
  switch (chance.weighted({ append: 3, insert: 2, drop: 2, odd: 1 })) {
    case 'append':
      return path + piece
    case 'insert':
      return [...parts.slice(0, at), piece.slice(1), ...parts.slice(at)].join('/')
    case 'drop':
      return parts.filter((_, index) => index !== at).join('/') || '/'
    default:
      return chance.pick([
        '*',
        '\\',
        'http://127.0.0.1/meta',
        'http://evil.test/meta',
        '/'.repeat(500),
        '//evil.test/meta',
        '/\u00e9',
      ])
  }
}

export function mutateRequest(given: HttpRequest, chance: Chance): RawRequest {
  const headers: [string, string][] = Object.entries(given.headers)
  const { method, path } = given
  const request: RawRequest = {
    method: chance.maybe(0.08) ? chance.pick(methods) : method,
    path: chance.maybe(0.12) ? mutatePath(path, chance) : path,
    headers: headers.filter(() => !chance.maybe(0.03)),
    body: given.body ? mutateMessage(given.body, chance) : Buffer.alloc(0),
    broken: false,
  }
  if (chance.maybe(0.02)) request.body = Buffer.alloc(chance.pick([300_000, 5 * MiB, 21 * MiB]), 0x20)
  if (chance.maybe(0.25)) {
    const [name, value] = chance.pick(oddHeaders)
    // In place of the real one, or beside it.
    if (chance.maybe(0.7)) request.headers = request.headers.filter(([known]) => known !== name)
    request.headers.push([name, value])
  }
  frame(request, chance)
  return request
}

/** How the body's length is told. */
function frame(request: RawRequest, chance: Chance): void {
  const { body, headers } = request
  const length = String(body.length)
  switch (chance.weighted({ length: 90, chunked: 6, short: 2, long: 2, odd: 1, both: 1, none: 1 })) {
    case 'length':
      if (body.length > 0 || request.method !== 'GET') headers.push(['content-length', length])
      return
    case 'chunked':
      headers.push(['transfer-encoding', 'chunked'])
      request.body = Buffer.concat([
        Buffer.from(`${body.length.toString(16)}\r\n`),
        body,
        Buffer.from('\r\n0\r\n\r\n'),
      ])
      // A chunk of no bytes ends the body, and what follows is another request.
      request.broken = body.length === 0
      return
    case 'short':
      headers.push(['content-length', String(Math.floor(body.length / 2))])
      break
    case 'long':
      headers.push(['content-length', String(body.length + 10)])
      break
    case 'odd':
      headers.push(['content-length', chance.pick(['-1', 'x', '1e3', '99999999999999999999', ''])])
      break
    case 'both':
      headers.push(['content-length', length], ['transfer-encoding', 'chunked'])
      break
    case 'none':
      break
  }
  request.broken = true
}
