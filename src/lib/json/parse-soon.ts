// Strict JSON from bytes without holding the event loop: small texts are parsed at once, large ones in a worker, one after
// the other. Bytes go there in pieces, with the rest of the loop between two. The worker decodes, scans and builds the value;
// this thread only takes a copy of it, whose cost is bounded by the limits on values and keys.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { loopTurn } from '../async/loop-turns.ts'
import { threadEnv } from '../async/thread-env.ts'
import { type Json, JsonError, type JsonLimits, parseJson } from './index.ts'

/** Parsing this much costs about as long as a trip to the worker may take on a busy machine. */
const LARGE_BYTES = 256 * 1024

/** About as many bytes are copied and sent to the worker in one turn of the event loop. */
const PIECE_BYTES = 1024 * 1024

/** A piece of the next text, or its end with the limits. `text`: the whole text, if it did not come in pieces. */
export type ParseMessage = { piece: Uint8Array } | { text?: string; limits: JsonLimits }
export type ParseReply =
  | { value: Json }
  | { refused: Pick<JsonError, 'reason' | 'offset' | 'message'> }
  | { failed: string }

/** The text in these pieces. Rejects with a JsonError. */
export async function parseSoon(pieces: readonly Uint8Array[], limits: JsonLimits): Promise<Json> {
  let size = 0
  for (const { length } of pieces) size += length
  if (size <= LARGE_BYTES) return parseJson(decodeUtf8(joinPieces(pieces)), limits)
  return inTurn(async asked => {
    for (const piece of regrouped(pieces)) {
      asked.postMessage({ piece } satisfies ParseMessage, [piece.buffer])
      await loopTurn()
    }
    asked.postMessage({ limits } satisfies ParseMessage)
  })
}

/** The same for text. */
export async function parseTextSoon(text: string, limits: JsonLimits): Promise<Json> {
  if (text.length <= LARGE_BYTES) return parseJson(text, limits)
  return inTurn(asked => asked.postMessage({ text, limits } satisfies ParseMessage))
}

/** Copies in memory of their own, each of about the same size: small ones are joined, large ones are cut. */
function* regrouped(pieces: readonly Uint8Array[]): Generator<Uint8Array<ArrayBuffer>> {
  let group: Uint8Array[] = []
  let size = 0
  for (const piece of pieces)
    for (let at = 0; at < piece.length; at += PIECE_BYTES) {
      const part = piece.subarray(at, at + PIECE_BYTES)
      group.push(part)
      size += part.length
      if (size < PIECE_BYTES) continue
      yield joinBytes(group, size)
      group = []
      size = 0
    }
  if (size > 0) yield joinBytes(group, size)
}

function joinBytes(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    copy.set(part, at)
    at += part.length
  }
  return copy
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
}

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

/** Waits for the worker, lets `send` give it a text, and takes its answer. */
async function inTurn(send: (worker: Worker) => void | Promise<void>): Promise<Json> {
  const before = last
  const { promise, resolve } = Promise.withResolvers<void>()
  last = promise
  await before
  try {
    return valueIn(await askWorker(send))
  } finally {
    resolve()
  }
}

async function askWorker(send: (worker: Worker) => void | Promise<void>): Promise<ParseReply> {
  worker ??= startWorker()
  const asked = worker
  const { promise, resolve, reject } = Promise.withResolvers<ParseReply>()
  const gone = (): void => reject(new Error('The worker that parses JSON has ended.'))
  asked.once('message', resolve).once('exit', gone)
  // While a text is parsed, someone waits for it.
  asked.ref()
  try {
    const [reply] = await Promise.all([promise, send(asked)])
    return reply
  } finally {
    asked.off('message', resolve).off('exit', gone)
    asked.unref()
  }
}

/** It lives until the process ends, and does not keep it alive. */
function startWorker(): Worker {
  // Beside this file, which is TypeScript in a checkout and JavaScript in the package.
  const file = new URL(`./parse-worker${extname(import.meta.url)}`, import.meta.url)
  const started = new Worker(file, { env: threadEnv(), execArgv: [], stdout: false, stderr: false })
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
