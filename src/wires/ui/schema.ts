// The AI SDK's UI message stream, v1, as it goes over the wire: what is read of a request, and the chunks that are sent.
import type { infer as Infer } from 'zod'
import { waitModes } from '../../language/events.ts'
import { answerActions, type FormSchema } from '../../language/questions.ts'
import type { Report } from '../../language/report.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { lazySchemas, optionalField as optional, type Zod } from '../../lib/schema/lazy.ts'

/** A question of a running call: to fill in the form `schema`, or to open `url`. */
export type UiQuestion = {
  questionId: string
  toolCallId: string
  message: string
  schema?: FormSchema
  url?: string
  expiresAt?: number
}

// ---- requests -----------------------------------------------------------------------------------------------

function makeSchemas(z: Zod) {
  const text = z.string('must be a string')
  const id = text.min(1, 'must not be empty').max(512, 'must have at most 512 characters')
  const object = z.custom<JsonObject>(isJsonObject, 'must be an object')

  const message = z.object(
    {
      id,
      role: z.enum(['system', 'user', 'assistant'], 'must be "system", "user" or "assistant"'),
      parts: z.array(object, 'must be a list of parts'),
    },
    'must be a message',
  )

  /** Ours: the SDK declares no tools in its requests. */
  const tool = z.object(
    { name: text, description: text, parameters: optional(object), inputSchema: optional(object) },
    'must be an object with name, description and inputSchema',
  )

  /** Ours: what a person answered to a question of a running call, sent as `body: { answers }` with any message. */
  const answer = z.object(
    {
      questionId: id,
      action: z.enum(answerActions, `must be ${answerActions.map(each => `"${each}"`).join(', ')}`),
      content: optional(object),
    },
    'must be an object with questionId and action',
  )

  const chatRequest = z.object({
    id,
    answers: optional(z.array(answer, 'must be a list').max(100, 'has too many answers')),
    messages: z.array(message, 'must be a list').min(1, 'is empty: send what the user says'),
    trigger: optional(z.enum(['submit-message', 'regenerate-message'], 'is not known')),
    messageId: optional(id),
    tools: optional(z.array(tool, 'must be a list')),
  })
  /** Ours: a message while the answer to another one is streamed. */
  const messageRequest = z.object({
    message,
    during: optional(z.enum(waitModes, `must be ${waitModes.map(each => `"${each}"`).join(', ')}`)),
  })
  return { chatRequest, messageRequest }
}

export const schemas = lazySchemas(makeSchemas)

export type ChatRequest = Infer<ReturnType<typeof schemas>['chatRequest']>
export type UiMessage = ChatRequest['messages'][number]

// ---- chunks -------------------------------------------------------------------------------------------------

export type FinishReason = 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
type CallNames = { toolCallId: string; toolName: string }

export type SteeringPart = { type: 'text'; text: string } | { type: 'file'; mediaType: string; url: string }

export type Chunk =
  | { type: 'start'; messageId: string }
  | { type: 'start-step' | 'finish-step' | 'reset-step' }
  /** A user message that joined the turn. */
  | { type: 'steering-message'; id: string; parts: SteeringPart[] }
  | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | ({ type: 'tool-input-start'; inputEncoding?: 'text' } & CallNames)
  | { type: 'tool-input-delta'; toolCallId: string; inputTextDelta: string }
  | ({ type: 'tool-input-available'; input: Json } & CallNames)
  | ({ type: 'tool-input-error'; input: Json; errorText: string } & CallNames)
  /** Parts of ours (`data-…`), as the SDK lets servers add them: questions, details for the application, previews, reports. */
  | { type: 'data-question'; id: string; data: UiQuestion }
  | { type: 'data-details'; id: string; data: { toolCallId: string; details: Json } }
  | { type: 'data-preview'; id: string; data: { toolCallId: string; preview: Report } }
  | { type: 'data-report'; id: string; data: { toolCallId: string; report: Report } }
  | { type: 'tool-approval-request'; approvalId: string; toolCallId: string; reason?: string }
  | { type: 'tool-approval-response'; approvalId: string; approved: boolean; reason?: string }
  | { type: 'tool-output-available'; toolCallId: string; output: Json }
  | { type: 'tool-output-error'; toolCallId: string; errorText: string }
  | { type: 'tool-output-denied'; toolCallId: string }
  | { type: 'error'; errorText: string }
  | { type: 'abort'; reason: string }
  | { type: 'finish'; finishReason: FinishReason }
