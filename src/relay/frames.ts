// The frames of the relay's WebSocket, protocol 2: JSON texts between a server and the machine of an agent's owner. Both
// sides read them here, strictly: a frame with an unknown member is no frame. The content of requests and answers is
// checked elsewhere: see request.ts and server/check-answer.ts.
import { z } from 'zod'
import { isJsonObject, JsonError, type JsonObject, parseJson } from '../lib/json/index.ts'

export const protocolVersion = 2

/** A whole number of the asset's smallest unit, per token. */
const priceText = z.string().regex(/^\d{1,30}$/)
const id = z.string().min(1).max(128)
const count = z.int().min(0)
const json = z.custom<JsonObject>(isJsonObject)
const usage = z.strictObject({ input_tokens: count, output_tokens: count, total_tokens: count })
const prices = { inputTokenPrice: priceText, outputTokenPrice: priceText }
const ts = z.number()

const ownerFrames = {
  auth: z.strictObject({
    type: z.literal('auth'),
    jwt: z.string().max(4_096),
    protocol: z.literal(protocolVersion),
    inputTokenPrice: priceText.optional(),
    outputTokenPrice: priceText.optional(),
    agentName: z.string().max(200).optional(),
    agentDescription: z.string().max(2_000).optional(),
  }),
  response: z.strictObject({ type: z.literal('response'), id, body: json }),
  stream_event: z.strictObject({ type: z.literal('stream_event'), id, event: json }),
  stream_end: z.strictObject({ type: z.literal('stream_end'), id, usage: usage.optional() }),
  error: z.strictObject({
    type: z.literal('error'),
    id,
    code: z.string().max(100),
    message: z.string().max(10_000),
  }),
  pong: z.strictObject({ type: z.literal('pong'), ts }),
  price_update: z.strictObject({ type: z.literal('price_update'), ...prices }),
}

const serverFrames = {
  auth_ok: z.strictObject({
    type: z.literal('auth_ok'),
    pluginId: z.string().max(200),
    protocol: z.literal(protocolVersion),
  }),
  auth_error: z.strictObject({ type: z.literal('auth_error'), message: z.string().max(10_000) }),
  request: z.strictObject({ type: z.literal('request'), id, body: json }),
  ping: z.strictObject({ type: z.literal('ping'), ts }),
  jwt_refresh: z.strictObject({ type: z.literal('jwt_refresh'), jwt: z.string().max(4_096) }),
  price_update_ack: z.strictObject({ type: z.literal('price_update_ack'), ...prices }),
}

type Frames = typeof ownerFrames
type ServerFrames = typeof serverFrames
/** A frame that an owner's machine sends. */
export type OwnerFrame = { [Type in keyof Frames]: z.infer<Frames[Type]> }[keyof Frames]
/** A frame that a server sends. */
export type ServerFrame = { [Type in keyof ServerFrames]: z.infer<ServerFrames[Type]> }[keyof ServerFrames]
export type TokenUsage = z.infer<typeof usage>

/** `unknown`: JSON with a type that this version does not have. `malformed`: anything else that is no frame. */
export type ReadFrame<Frame> = { frame: Frame } | { problem: 'unknown' | 'malformed' }

export function readOwnerFrame(text: string, maxBytes: number): ReadFrame<OwnerFrame> {
  return read<OwnerFrame>(ownerFrames, text, maxBytes)
}

export function readServerFrame(text: string, maxBytes: number): ReadFrame<ServerFrame> {
  return read<ServerFrame>(serverFrames, text, maxBytes)
}

function read<Frame>(
  shapes: Readonly<Record<string, z.ZodType<Frame>>>,
  text: string,
  maxBytes: number,
): ReadFrame<Frame> {
  const value = jsonObject(text, maxBytes)
  const type = value?.['type']
  if (typeof type !== 'string') return { problem: 'malformed' }
  const shape = Object.hasOwn(shapes, type) ? shapes[type] : undefined
  if (!shape) return { problem: 'unknown' }
  const { success, data } = shape.safeParse(value)
  return success ? { frame: data } : { problem: 'malformed' }
}

function jsonObject(text: string, maxBytes: number): JsonObject | undefined {
  try {
    const value = parseJson(text, { maxBytes })
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** The tokens that a response says it used; undefined if it says nothing that can be read. */
export function usageIn(response: unknown): TokenUsage | undefined {
  if (!isJsonObject(response) || !isJsonObject(response['usage'])) return undefined
  const { input_tokens, output_tokens, total_tokens } = response['usage']
  const { success, data } = usage.safeParse({ input_tokens, output_tokens, total_tokens })
  return success ? data : undefined
}
