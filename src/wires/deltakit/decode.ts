// Request bodies and socket frames. DeltaKit sends `{"message": …}` and whatever the application adds; all other members are
// ours. A refusal names the field and says what belongs there.

import type { infer as Infer } from 'zod'
import type { GivenAnswer, GivenDecision, GivenResult } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { waitModes } from '../../language/events.ts'
import { answerActions, type FormContent } from '../../language/questions.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson } from '../../lib/json/index.ts'
import { present } from '../../lib/json/present.ts'
import { lazySchemas, optionalField as optional, type Zod } from '../../lib/schema/lazy.ts'
import { shaped } from '../http/index.ts'
import { clientTool } from '../own-tools.ts'

const longestId = 256

const makeText = (z: Zod) => z.string('must be a string')
const makeFlag = (z: Zod) => z.boolean('must be true or false')
const makeObject = (z: Zod) => z.custom<JsonObject>(isJsonObject, 'must be an object')
const makeId = (z: Zod) =>
  makeText(z)
    .regex(/^[^\p{Cc}]+$/u, 'must not be empty and has no control characters')
    .max(longestId, `must have at most ${longestId} characters`)

const makeTarget = (z: Zod) => ({
  sessionId: optional(makeId(z)),
  agent: optional(makeId(z)),
  tools: optional(
    z.array(
      z.object(
        {
          name: makeText(z),
          title: optional(makeText(z)),
          description: makeText(z),
          parameters: makeObject(z),
        },
        'must be an object with name, description and parameters',
      ),
      'must be a list',
    ),
  ),
})

const makeResult = (z: Zod) =>
  z.object(
    {
      call_id: makeId(z),
      output: z.custom<Json>(given => given !== undefined, 'is missing'),
      error: optional(makeFlag(z)),
    },
    'must be an object with call_id and output',
  )

const makeApproval = (z: Zod) =>
  z.object(
    {
      call_id: makeId(z),
      approved: makeFlag(z),
      reason: optional(makeText(z)),
      argument: optional(z.union([z.string(), makeObject(z)], 'must be JSON text or an object')),
      arguments_hash: optional(makeText(z)),
      remember: optional(makeFlag(z)),
    },
    'must be an object with call_id and approved',
  )

const makeAnswer = (z: Zod) =>
  z.object(
    {
      question_id: makeId(z),
      action: z.enum(answerActions, 'must be "accept", "decline" or "cancel"'),
      content: optional(makeObject(z)),
    },
    'must be an object with question_id and action',
  )

const durings = ['refuse', ...waitModes] as const

const schemas = lazySchemas(z => ({
  target: z.object(makeTarget(z)),
  chat: z.object({
    message: z
      .string('must be a string: what the user says')
      .refine(text => text.trim() !== '', 'is empty: send what the user says'),
    /** Ours: what becomes of it while a turn is under way. */
    during: optional(z.enum(durings, `must be one of: ${durings.join(', ')}`)),
    ...makeTarget(z),
  }),
  answers: z.object({
    sessionId: optional(makeId(z)),
    stream: optional(makeFlag(z)),
    results: optional(z.array(makeResult(z), 'must be a list')),
    approvals: optional(z.array(makeApproval(z), 'must be a list')),
    answers: optional(z.array(makeAnswer(z), 'must be a list')),
  }),
  resume: z.object({
    runId: makeText(z).min(1, 'must not be empty').max(2048, 'must have at most 2048 characters'),
    lastEventId: optional(z.int('must be a whole number').gte(-1, 'must be -1 or more')),
  }),
}))
type Schemas = ReturnType<typeof schemas>

export type Chat = Infer<Schemas['chat']>
export type Answered = Infer<Schemas['answers']>
export type Resume = Infer<Schemas['resume']>

export const decodeTarget = (body: JsonObject): Pick<Chat, 'agent' | 'tools'> =>
  shaped(schemas().target, body)
export const decodeChat = (body: JsonObject): Chat => shaped(schemas().chat, body)
export const decodeAnswered = (body: JsonObject): Answered => shaped(schemas().answers, body)
export const decodeResume = (body: JsonObject): Resume => shaped(schemas().resume, body)

export function decodeClientTools(tools: NonNullable<Chat['tools']>): ToolDeclaration[] {
  return tools.map(({ name, title, description, parameters }) => ({
    ...clientTool(name, description, { form: 'json', schema: parameters }),
    ...(title !== undefined && { title }),
  }))
}

export function decodeAnswers(
  { results, approvals, answers }: Answered,
  by: string,
): { results: GivenResult[]; decisions: GivenDecision[]; answers: GivenAnswer[] } {
  if (!results?.length && !approvals?.length && !answers?.length)
    throw new TurnwireError('bad_request', 'The request answers no call: send results, approvals or answers.')
  return {
    answers: (answers ?? []).map(({ question_id, action, content }) => ({
      question: question_id,
      action,
      by,
      // The engine checks it against the form.
      ...(content && { content: content as FormContent }),
    })),
    results: (results ?? []).map(({ call_id, output, error }) => ({
      callId: call_id,
      parts: [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }],
      ...(error === true && { failed: true }),
    })),
    decisions: (approvals ?? []).map(({ call_id, approved, reason, argument, arguments_hash, remember }) => ({
      callId: call_id,
      granted: approved,
      by,
      ...present({ reason, seen: arguments_hash }),
      ...(remember === true && { remember }),
      ...(approved && argument !== undefined && { edit: decodeEdit(argument) }),
    })),
  }
}

/** An object, or JSON text of one. Free text is sent as `{"input": "<text>"}`. */
function decodeEdit(argument: string | JsonObject): JsonObject {
  if (typeof argument !== 'string') return argument
  try {
    const given = parseJson(argument)
    if (isJsonObject(given)) return given
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
  }
  throw new TurnwireError(
    'bad_request',
    'argument must be an object, or JSON text of one. Free text is sent as {"input": "<text>"}.',
  )
}
