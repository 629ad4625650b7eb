// AG-UI 1.0, and 0.0.5x where it differs, as it goes over the wire: the parts of a run's input that are read, and the events that
// are sent. Optional members are left out, never null: the reference client refuses null.
import type { infer as Infer } from 'zod'
import type { Report } from '../../language/report.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { lazySchemas, optionalField as optional, type Zod } from '../../lib/schema/lazy.ts'

// ---- input --------------------------------------------------------------------------------------------------

const makeText = (z: Zod) => z.string('must be a string')
const makeId = (z: Zod) =>
  makeText(z).min(1, 'must not be empty').max(512, 'must have at most 512 characters')

function makeContent(z: Zod) {
  const text = makeText(z)
  const source = z.object({ type: text, value: text, mimeType: optional(text) }, 'must be an object')
  const part = z.discriminatedUnion(
    'type',
    [
      z.object({ type: z.literal('text'), text }),
      ...(['image', 'audio', 'video', 'document'] as const).map(type =>
        z.object({ type: z.literal(type), source }),
      ),
    ],
    'must be a part of type text, image, audio, video or document',
  )
  return z.union([z.string(), z.array(part)], 'must be a string or a list of parts')
}

function makeMessage(z: Zod) {
  const [id, text, content] = [makeId(z), makeText(z), makeContent(z)]
  const call = z.object({
    id,
    function: z.object({ name: text, arguments: text }, 'must be an object'),
    encryptedValue: optional(text),
  })
  const toolCalls = optional(z.array(call, 'must be a list'))
  return z.discriminatedUnion(
    'role',
    [
      z.object({ role: z.literal('developer'), id, content: text }),
      z.object({ role: z.literal('system'), id, content: text }),
      z.object({ role: z.literal('user'), id, content }),
      z.object({ role: z.literal('assistant'), id, content: optional(text), toolCalls }),
      z.object({ role: z.literal('tool'), id, toolCallId: id, content, error: optional(text) }),
      z.object({ role: z.literal('reasoning'), id, content: text, encryptedValue: optional(text) }),
      z.object({ role: z.literal('activity'), id }),
    ],
    'must be a message with a role',
  )
}

function makeSchemas(z: Zod) {
  const [id, text] = [makeId(z), makeText(z)]
  const parameters = optional(z.custom<JsonObject>(isJsonObject, 'must be an object'))
  const tool = z.object(
    { name: text, description: text, parameters },
    'must be an object with name and description',
  )
  const resume = z.object({
    interruptId: id,
    status: z.enum(['resolved', 'cancelled'], 'must be "resolved" or "cancelled"'),
    payload: z.custom<Json>(() => true).optional(),
  })
  const runInput = z.object({
    threadId: id,
    runId: id,
    messages: z.array(makeMessage(z), 'must be a list'),
    tools: optional(z.array(tool, 'must be a list')),
    context: optional(z.array(z.object({ description: text, value: text }), 'must be a list')),
    resume: optional(z.array(resume, 'must be a list')),
    protocolVersion: optional(text),
  })
  return { runInput, content: makeContent(z), resume }
}

export const schemas = lazySchemas(makeSchemas)
type Schemas = ReturnType<typeof schemas>

export type RunInput = Infer<Schemas['runInput']>
export type InputMessage = RunInput['messages'][number]
export type InputContent = Infer<Schemas['content']>
export type Resume = Infer<Schemas['resume']>

// ---- messages and events ------------------------------------------------------------------------------------

export type AguiToolCall = { id: string; type: 'function'; function: { name: string; arguments: string } }
export type OutputMessage =
  | { id: string; role: 'assistant'; content?: string; toolCalls?: AguiToolCall[] }
  | { id: string; role: 'tool'; toolCallId: string; content: string }
  | { id: string; role: 'reasoning'; content: string; encryptedValue?: string }

export type Interrupt = {
  id: string
  reason: string
  message: string
  toolCallId: string
  responseSchema?: JsonObject
  expiresAt?: string
  /** The call, if the client may have seen another one under this id, or none. */
  metadata?: { toolCallName?: string; toolCallArgs?: string; preview?: Report; url?: string }
}

export type TokenUsage = {
  model: string
  inputTokens: number
  outputTokens: number
  totalTokens: number
  reasoningTokens?: number
  cachedInputTokens?: number
  cacheWriteInputTokens?: number
}

/** Clients before 1.0 take no `pendingToolCallIds` and no `cancelled`. */
export type RunOutcome =
  | { type: 'success'; pendingToolCallIds?: string[] }
  | { type: 'interrupt'; interrupts: Interrupt[] }
  | { type: 'cancelled' }

export type AguiEvent =
  | { type: 'RUN_STARTED'; threadId: string; runId: string; protocolVersion?: '1.0' }
  | {
      type: 'RUN_FINISHED'
      threadId: string
      runId: string
      outcome: RunOutcome
      result?: JsonObject
      usage?: TokenUsage[]
    }
  | { type: 'RUN_ERROR'; message: string; code: string; usage?: TokenUsage[] }
  | { type: 'TEXT_MESSAGE_START'; messageId: string; role: 'assistant' }
  | { type: 'TEXT_MESSAGE_CONTENT'; messageId: string; delta: string }
  | { type: 'TEXT_MESSAGE_END'; messageId: string }
  | { type: 'REASONING_START' | 'REASONING_END'; messageId: string }
  | { type: 'REASONING_MESSAGE_START'; messageId: string; role: 'reasoning' }
  | { type: 'REASONING_MESSAGE_CONTENT'; messageId: string; delta: string }
  | { type: 'REASONING_MESSAGE_END'; messageId: string }
  | {
      type: 'REASONING_ENCRYPTED_VALUE'
      subtype: 'message' | 'tool-call'
      entityId: string
      encryptedValue: string
    }
  | { type: 'TOOL_CALL_START'; toolCallId: string; toolCallName: string; parentMessageId: string }
  | { type: 'TOOL_CALL_ARGS'; toolCallId: string; delta: string }
  | { type: 'TOOL_CALL_END'; toolCallId: string }
  | { type: 'TOOL_CALL_RESULT'; messageId: string; toolCallId: string; content: string; role: 'tool' }
  /** Ours: what a tool gave for the application only. */
  | { type: 'CUSTOM'; name: 'turnwire/details'; value: { toolCallId: string; details: Json } }
  | { type: 'CUSTOM'; name: 'turnwire/report'; value: { toolCallId: string; report: Report } }
  | { type: 'MESSAGES_SNAPSHOT'; messages: (InputMessage | OutputMessage | JsonObject)[] }
