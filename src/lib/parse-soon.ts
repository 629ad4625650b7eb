// Strict JSON from bytes without holding the event loop: small texts are parsed at once, large ones in a worker, one after
// the other. The worker decodes, scans and builds the value; this thread only takes a copy of it, whose cost is bounded by
// the limits on values and keys.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type Json, JsonError, type JsonLimits, parseJson } from './json.ts'

/** Parsing this much costs about as long as a trip to the worker may take on a busy machine. */
const LARGE_BYTES = 256 * 1024

export type ParseJob = { bytes: Uint8Array; limits: JsonLimits }
export type ParseReply =
  | { value: Json }
  | { refused: Pick<JsonError, 'reason' | 'offset' | 'message'> }
  | { failed: string }

/** Rejects with a JsonError. The bytes are the caller's no longer. */
export async function parseSoon(bytes: Uint8Array, limits: JsonLimits): Promise<Json> {
  if (bytes.length <= LARGE_BYTES) return parseJson(decodeUtf8(bytes), limits)
  const before = last
  const { promise, resolve } = Promise.withResolvers<void>()
  last = promise
  await before
  try {
    return valueIn(await askWorker({ bytes, limits }))
  } finally {
    resolve()
  }
}

/** The same for text. */
export async function parseTextSoon(text: string, limits: JsonLimits): Promise<Json> {
  return text.length > LARGE_BYTES ? parseSoon(encoder.encode(text), limits) : parseJson(text, limits)
}

const encoder = new TextEncoder()
const utf8 = new TextDecoder('utf-8', { fatal: true })

export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new JsonError('not-utf8', 0, 'The text is not UTF-8. Send the JSON as UTF-8.')
  }
}

/** Resolves when the worker is free for the next text. */
let last: Promise<void> = Promise.resolve()
let worker: Worker | undefined

function askWorker(job: ParseJob): Promise<ParseReply> {
  worker ??= startWorker()
  const asked = worker
  const { promise, resolve, reject } = Promise.withResolvers<ParseReply>()
  const gone = (): void => reject(new Error('The worker that parses JSON has ended.'))
  asked.once('message', resolve).once('exit', gone)
  // While a text is parsed, someone waits for it.
  asked.ref()
  const { buffer, byteLength } = job.bytes
  // Other views of the same memory would lose it.
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
  asked.postMessage(job, isWhole ? [buffer] : [])
  return promise.finally(() => {
    asked.off('message', resolve).off('exit', gone)
    asked.unref()
  })
}

/** It lives until the process ends, and does not keep it alive. */
function startWorker(): Worker {
  // Beside this file, which is TypeScript in a checkout and JavaScript in the package.
  const file = new URL(`./parse-worker${extname(import.meta.url)}`, import.meta.url)
  const started = new Worker(file, { execArgv: [], stdout: false, stderr: false })
  const forget = (): void => {
    if (worker === started) worker = undefined
  }
  started.on('error', forget).on('exit', forget)
  started.unref()
  return started
}

function valueIn(reply: ParseReply): Json {
  if ('value' in reply) return reply.value
  if ('failed' in reply) throw new Error(reply.failed)
  const { reason, offset, message } = reply.refused
  throw new JsonError(reason, offset, message)
}
