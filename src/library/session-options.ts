// The settings of a new session, from what a program wrote.
import type { GivenSettings } from '../engine/index.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { Entry } from '../language/history.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { checkDeclaredSchema } from '../lib/schema/declared.ts'
import { type AnySchema, describeSchema } from '../lib/schema/standard.ts'
import { nearest } from '../lib/text/nearest.ts'

/** A tool that the calling program runs itself: the turn stops for it. */
export type OwnTool<Name extends string = string> = {
  name: Name
  title?: string
  description: string
  input: AnySchema
}

export type SessionOptions<ModelName extends string = string, OwnName extends string = string> = {
  owner?: string
  /** Exposed tools that are on, and whether each runs without asking. Default: all, as they are declared. */
  tools?: { name: string; trust: boolean }[]
  options?: Record<string, string>
  ownTools?: readonly OwnTool<OwnName>[]
  history?: Entry[]
  model?: ModelName
}

const optionNames = Object.keys({
  owner: true,
  tools: true,
  options: true,
  ownTools: true,
  history: true,
  model: true,
} satisfies Record<keyof SessionOptions, true>)

/** JavaScript can pass anything. A misspelt `owner` would make a session that anyone in the program can reach. */
function checkOptions(given: SessionOptions): void {
  const unknown = Object.keys(given).find(name => !optionNames.includes(name))
  if (unknown === undefined) return
  const near = nearest(unknown, optionNames)
  const advice = near === undefined ? `There are: ${optionNames.join(', ')}.` : `Did you mean "${near}"?`
  throw new TurnwireError('bad_request', `A session has no option "${unknown}". ${advice}`)
}

export function toSettings(given: SessionOptions): GivenSettings {
  checkOptions(given)
  const { tools, options, ownTools, model } = given
  return {
    tools: tools ?? null,
    options: options ?? {},
    clientTools: (ownTools ?? []).map(declareOwnTool),
    ...(model !== undefined && { model }),
  }
}

function declareOwnTool(own: OwnTool): ToolDeclaration {
  return {
    name: own.name,
    ...(own.title !== undefined && { title: own.title }),
    description: own.description,
    input: { form: 'json', schema: ownToolSchema(own) },
    kind: 'other',
    readOnly: false,
    idempotent: false,
    destructive: true,
    side: 'client',
  }
}

function ownToolSchema({ name, input }: OwnTool): JsonObject {
  try {
    const schema = describeSchema(input).json
    checkDeclaredSchema(schema)
    return schema
  } catch (cause) {
    throw new TurnwireError('invalid_tool', `The schema of "${name}" cannot be used: ${wordsOf(cause)}`, {
      cause,
    })
  }
}
