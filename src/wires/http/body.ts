// A request's body as strict JSON, read from the raw request so that its size is bounded before anything is built of
// it. Compressed bodies are refused rather than inflated: no client of ours needs them, and a bomb cannot be measured
// before it is opened. Each wire decodes the JSON itself. Also the key under which a request may be repeated.
import type { IncomingMessage } from 'node:http'
import type { Context } from 'hono'
import type * as z from 'zod'
import type { RequestKey } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { hashJson } from '../../lib/json/hash.ts'
import { isJsonObject, type Json, JsonError, type JsonObject } from '../../lib/json/index.ts'
import { parseSoon } from '../../lib/json/parse-soon.ts'
import type { WireEnv, WireHost } from '../host.ts'

/** `plainText`: JSON may come as text/plain, which `fetch` writes when a client names no type. */
type BodyLimits = Pick<WireHost['limits'], 'bodyBytes' | 'jsonDepth'> & { plainText?: true }

/** The body, which must be a JSON object. */
export async function readJsonObject(c: Context<WireEnv>, limits: BodyLimits): Promise<JsonObject> {
  const body = await readJson(c, limits)
  if (!isJsonObject(body)) throw new TurnwireError('bad_request', 'The body must be a JSON object.')
  return body
}

export async function readJson(c: Context<WireEnv>, limits: BodyLimits): Promise<Json> {
  const { incoming } = c.env
  checkHeaders(incoming, limits.plainText)
  const body = new BodyReader(c, limits.bodyBytes)
  try {
    const pieces = await body.read(incoming)
    if (pieces.length === 0)
      throw new TurnwireError('invalid_json', 'The request has no body. Send a JSON object.')
    c.get('payment')?.takeBody(pieces)
    return await parseSoon(pieces, { maxBytes: limits.bodyBytes, maxDepth: limits.jsonDepth })
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new TurnwireError(error.reason === 'too-large' ? 'too_large' : 'invalid_json', error.message)
  } finally {
    body.release()
  }
}

/** The fields of a form that a page sent. */
export async function readForm(c: Context<WireEnv>, bodyBytes: number): Promise<URLSearchParams> {
  const { incoming } = c.env
  if (!/^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(incoming.headers['content-type'] ?? ''))
    throw new TurnwireError(
      'unsupported_media',
      'Send the form as a browser does: application/x-www-form-urlencoded.',
    )
  const body = new BodyReader(c, bodyBytes)
  try {
    return new URLSearchParams(Buffer.concat(await body.read(incoming)).toString('utf8'))
  } finally {
    body.release()
  }
}

function checkHeaders({ headers }: IncomingMessage, plainText = false): void {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    throw new TurnwireError(
      'unsupported_media',
      'Compressed bodies are not taken. Send the JSON as it is, without Content-Encoding.',
    )
  const type = headers['content-type']
  if (plainText && type !== undefined && /^\s*text\/plain\s*(?:;|$)/i.test(type)) return
  if (type !== undefined && !/^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type))
    throw new TurnwireError(
      'unsupported_media',
      'The body must be JSON. Send it with Content-Type: application/json.',
    )
}

/** Reads one body. Its bytes count for the owner until they are released. */
class BodyReader {
  readonly #c: Context<WireEnv>
  readonly #most: number
  #size = 0

  constructor(c: Context<WireEnv>, most: number) {
    this.#c = c
    this.#most = most
  }

  release(): void {
    this.#c.get('account')?.releaseBody(this.#size)
    this.#size = 0
  }

  /** In pieces, none of them empty. */
  read(incoming: IncomingMessage): Promise<Buffer[]> {
    if (Number(incoming.headers['content-length'] ?? 0) > this.#most) return Promise.reject(this.#tooLarge())
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      const stop = (): void => {
        incoming.off('data', take).off('end', end).off('error', fail).off('close', gone)
      }
      const take = (chunk: Buffer): void => {
        chunks.push(chunk)
        try {
          this.#count(chunk.length)
        } catch (error) {
          stop()
          incoming.pause()
          reject(error)
        }
      }
      const end = (): void => {
        stop()
        resolve(chunks)
      }
      const fail = (error: unknown): void => {
        stop()
        reject(new TurnwireError('bad_request', 'The body could not be read.', { cause: error }))
      }
      const gone = (): void => fail(new Error('The connection closed inside the body.'))
      incoming.on('data', take).on('end', end).on('error', fail).on('close', gone)
    })
  }

  #count(bytes: number): void {
    if (this.#size + bytes > this.#most) throw this.#tooLarge()
    try {
      this.#c.get('account')?.takeBody(bytes)
    } catch (error) {
      this.#closeAfter()
      throw error
    }
    this.#size += bytes
  }

  #tooLarge(): TurnwireError {
    this.#closeAfter()
    return new TurnwireError('too_large', `The body is larger than ${this.#most} bytes. Send less.`)
  }

  /** The rest of the body is not read, so the connection cannot carry another request. */
  #closeAfter(): void {
    this.#c.env.outgoing.setHeader('Connection', 'close')
  }
}

/** The body, checked against a wire's schema. A member that does not fit is refused with its path. */
export function shaped<T>(schema: z.ZodType<T>, body: JsonObject): T {
  const { success, data, error } = schema.safeParse(body)
  if (success) return data
  const issue = error.issues[0]
  const place = issue?.path.map(String).join('.').slice(0, 200)
  throw new TurnwireError('bad_request', `${place || 'The body'} ${issue?.message ?? 'cannot be read'}.`)
}

/**
 * The Idempotency-Key header, and a hash of the whole request. The engine records the key with the events of the request.
 * `asked` names the operation, so that a key means the same under every path of it.
 */
export function requestKey(c: Context<WireEnv>, asked: string, body: Json): RequestKey | undefined {
  const key = c.req.header('idempotency-key')
  if (key === undefined) return undefined
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new TurnwireError(
      'bad_request',
      'An Idempotency-Key has 1 to 255 visible ASCII characters and no spaces.',
    )
  return { key, hash: hashJson([asked, body]) }
}
