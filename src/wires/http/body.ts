// A request's body as strict JSON, read from the raw request so that its size is bounded before anything is built of
// it. Compressed bodies are refused rather than inflated: no client of ours needs them, and a bomb cannot be measured
// before it is opened. What the JSON means is each wire's own matter.
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import type * as z from 'zod'
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson } from '../../lib/json.ts'
import type { WireEnv, WireHost } from '../host.ts'

type BodyLimits = Pick<WireHost['limits'], 'bodyBytes' | 'jsonDepth'>

/** The body, which must be a JSON object. */
export async function readJsonObject(c: Context<WireEnv>, limits: BodyLimits): Promise<JsonObject> {
  const body = await readJson(c, limits)
  if (!isJsonObject(body)) throw new TurnwireError('bad_request', 'The body must be a JSON object.')
  return body
}

export async function readJson(c: Context<WireEnv>, limits: BodyLimits): Promise<Json> {
  const { incoming } = c.env
  checkHeaders(incoming)
  const text = decodeUtf8(await readBytes(c, incoming, limits.bodyBytes))
  if (text === '') throw new TurnwireError('invalid_json', 'The request has no body. Send a JSON object.')
  try {
    return parseJson(text, { maxBytes: limits.bodyBytes, maxDepth: limits.jsonDepth })
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new TurnwireError(error.reason === 'too-large' ? 'too_large' : 'invalid_json', error.message)
  }
}

function checkHeaders({ headers }: IncomingMessage): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    throw new TurnwireError(
      'unsupported_media',
      'Compressed bodies are not taken. Send the JSON as it is, without Content-Encoding.',
    )
  const type = headers['content-type']
  if (type !== undefined && !/^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
    throw new TurnwireError(
      'unsupported_media',
      'The body must be JSON. Send it with Content-Type: application/json.',
    )
}

function readBytes(c: Context<WireEnv>, incoming: IncomingMessage, most: number): Promise<Buffer> {
  const tooLarge = (): TurnwireError => {
    // What is left of the body is not read, so the connection cannot carry another request.
    c.env.outgoing.setHeader('Connection', 'close')
    return new TurnwireError('too_large', `The body is larger than ${most} bytes. Send less.`)
  }
  if (Number(incoming.headers['content-length'] ?? 0) > most) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const stop = (): void => {
      incoming.off('data', take).off('end', end).off('error', fail).off('close', gone)
    }
    const take = (chunk: Buffer): void => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= most) return
      stop()
      incoming.pause()
      reject(tooLarge())
    }
    const end = (): void => {
      stop()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size))
    }
    const fail = (error: unknown): void => {
      stop()
      reject(new TurnwireError('bad_request', 'The body could not be read.', { cause: error }))
    }
    const gone = (): void => fail(new Error('The connection closed inside the body.'))
    incoming.on('data', take).on('end', end).on('error', fail).on('close', gone)
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new TurnwireError('invalid_json', 'The body is not UTF-8. Send the JSON as UTF-8.')
  }
}

/** The body in the shape that a wire wants; what does not fit is refused with its place. */
export function shaped<T>(schema: z.ZodType<T>, body: JsonObject): T {
  const { success, data, error } = schema.safeParse(body)
  if (success) return data
  const issue = error.issues[0]
  const place = issue?.path.map(String).join('.').slice(0, 200)
  throw new TurnwireError('bad_request', `${place || 'The body'} ${issue?.message ?? 'cannot be read'}.`)
}
