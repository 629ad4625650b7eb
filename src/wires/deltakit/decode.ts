// Request bodies and socket frames, into the engine's commands. DeltaKit sends `{"message": …}` and whatever the
// application adds; all other members here are ours. A refusal names the place and says what belongs there.
import type { infer as Infer, ZodType } from 'zod'
import type { Answers } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson } from '../../lib/json.ts'
import { lazySchemas, type Zod } from '../../lib/lazy-schemas.ts'
import { shaped } from '../http/index.ts'
import { clientTool } from '../own-tools.ts'

const longestId = 256
function makeSchemas(z: Zod) {
  /** Many clients write `null` for what they leave out. */
  const optional = <T extends ZodType>(schema: T) => schema.nullish().transform(value => value ?? undefined)
  const id = z
    .string('must be a string')
    .regex(/^[^\p{Cc}]+$/u, 'must not be empty and has no control characters')
    .max(longestId, `must have at most ${longestId} characters`)
  const object = z.custom<JsonObject>(isJsonObject, 'must be an object')
  const value = z.custom<Json>(given => given !== undefined, 'is missing')

  const tool = z.object(
    {
      name: z.string('must be a string'),
      title: optional(z.string('must be a string')),
      description: z.string('must be a string'),
      parameters: object,
    },
    'must be an object with name, description and parameters',
  )

  const target = {
    sessionId: optional(id),
    agent: optional(id),
    tools: optional(z.array(tool, 'must be a list')),
  }

  const chat = z.object({
    message: z
      .string('must be a string: what the user says')
      .refine(text => text.trim() !== '', 'is empty: send what the user says'),
    ...target,
  })

  const answers = z.object({
    sessionId: optional(id),
    stream: optional(z.boolean('must be true or false')),
    results: optional(
      z.array(
        z.object(
          { call_id: id, output: value, error: optional(z.boolean('must be true or false')) },
          'must be an object with call_id and output',
        ),
        'must be a list',
      ),
    ),
    approvals: optional(
      z.array(
        z.object(
          {
            call_id: id,
            approved: z.boolean('must be true or false'),
            reason: optional(z.string('must be a string')),
            argument: optional(z.union([z.string(), object], 'must be JSON text or an object')),
            arguments_hash: optional(z.string('must be a string')),
            remember: optional(z.boolean('must be true or false')),
          },
          'must be an object with call_id and approved',
        ),
        'must be a list',
      ),
    ),
  })

  const resume = z.object({
    runId: id,
    lastEventId: optional(z.int('must be a whole number').gte(-1, 'must be -1 or more')),
  })
  return { chat, answers, resume, target: z.object(target) }
}

const schemas = lazySchemas(makeSchemas)
type Schemas = ReturnType<typeof schemas>

export type Chat = Infer<Schemas['chat']>
export type Answered = Infer<Schemas['answers']>
export type Resume = Infer<Schemas['resume']>

export const decodeTarget = (body: JsonObject): Pick<Chat, 'agent' | 'tools'> =>
  shaped(schemas().target, body)
export const decodeChat = (body: JsonObject): Chat => shaped(schemas().chat, body)
export const decodeAnswered = (body: JsonObject): Answered => shaped(schemas().answers, body)
export const decodeResume = (body: JsonObject): Resume => shaped(schemas().resume, body)

export function decodeTools(tools: NonNullable<Chat['tools']>): ToolDeclaration[] {
  return tools.map(({ name, title, description, parameters }) => ({
    ...clientTool(name, description, { form: 'json', schema: parameters }),
    ...(title !== undefined && { title }),
  }))
}

/** `formOf` tells whether a call takes free text, which stands in the member `input` of its argument. */
export function decodeAnswers(
  { results, approvals }: Answered,
  by: string,
  formOf: (callId: string) => 'json' | 'text' | undefined,
): Answers {
  if (!results?.length && !approvals?.length)
    throw new TurnwireError('bad_request', 'The request answers no call: send results or approvals.')
  return {
    results: (results ?? []).map(({ call_id, output, error }) => ({
      callId: call_id,
      parts: [{ type: 'text', text: typeof output === 'string' ? output : JSON.stringify(output) }],
      ...(error === true && { failed: true }),
    })),
    decisions: (approvals ?? []).map(({ call_id, approved, reason, argument, arguments_hash, remember }) => ({
      callId: call_id,
      granted: approved,
      by,
      ...(reason !== undefined && { reason }),
      ...(arguments_hash !== undefined && { seen: arguments_hash }),
      ...(remember === true && { remember }),
      ...(approved && argument !== undefined && { edit: editOf(argument, formOf(call_id)) }),
    })),
  }
}

function editOf(argument: string | JsonObject, form: 'json' | 'text' | undefined): string {
  const text = typeof argument === 'string' ? argument : JSON.stringify(argument)
  if (form !== 'text') return text
  const written = freeText(text)
  if (written !== undefined) return written
  throw new TurnwireError('bad_request', 'This call takes free text: send "argument": {"input": "<text>"}.')
}

function freeText(argument: string): string | undefined {
  try {
    const given = parseJson(argument)
    return isJsonObject(given) && typeof given['input'] === 'string' ? given['input'] : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}
