// The words of flow control: what a tool says of its results and arguments, and where each argument of a call came from.
// How they are judged is policy's (policy/flow).
import { isJsonObject, type Json, type JsonObject } from '../lib/json/index.ts'
import { checkedWords } from './calls.ts'
import { type InputPart, isSpoken, type TextPart } from './content.ts'

/** `reaches`: it changes nothing here, but what it is given leaves the house. */
const flowEffects = ['none', 'reaches', 'changes'] as const
export type FlowEffect = (typeof flowEffects)[number]

/** Roles of arguments that decide where something goes, or what it is done to. */
export const sinkRoles = [
  'recipient',
  'address',
  'url',
  'amount',
  'id',
  'path',
  'target',
  'secret',
  'value',
] as const
/**
 * `when`: a date or a time. `text`: words for people. `flag`: one of a few fixed values. `detail`: a value that nothing depends
 * on. `query`: what is looked for.
 */
export const flowRoles = [...sinkRoles, 'when', 'text', 'flag', 'detail', 'query'] as const
export type FlowRole = (typeof flowRoles)[number]

/** What a tool says of itself. Anything that it does not say is taken as the least trusted. */
export type FlowLabels = {
  /** `trusted`: only the system and its own users write what it returns. Default `untrusted`. */
  readonly output?: 'trusted' | 'untrusted'
  /** The fields that outsiders fill. With any the output is untrusted. Default: all of an untrusted one. */
  readonly outsiders?: readonly string[]
  /** Default: `none` for a read-only tool, else `changes`. */
  readonly effect?: FlowEffect
  /** It destroys something: each call after untrusted text asks. Default: an explicit `destructive: true`. */
  readonly destroys?: boolean
  /** The role of each argument. One without a role is a sink. */
  readonly args?: Readonly<Record<string, FlowRole>>
  /** The kind of the things that it returns, such as `file`. */
  readonly record?: string
  /** By argument: the kind of the thing that its id names. */
  readonly ids?: Readonly<Record<string, string>>
  /** It returns the thing that it made. */
  readonly creates?: boolean
  /** It reads what is not for everybody. Words that it alone gave are in no call without a sink. */
  readonly private?: boolean
  /** Words by which people ask for it. A call of it needs one of them. */
  readonly words?: readonly string[]
  /** Each result says itself whether it is trusted (`_meta.ifc.integrity` of MCP), and is believed. */
  readonly stated?: boolean
}

export type FlowMode = 'warrants' | 'strict' | 'off'

/** Where the value of an argument came from. */
export type FlowOrigin =
  | 'user'
  | 'operator'
  /** Found by a trusted tool, under a key that the user gave. */
  | 'lookup'
  /** Of a thing that this turn made, or that the user named. */
  | 'record'
  /** A field that only the system fills. */
  | 'system'
  | 'approved'
  /** The tool's own default, a flag, or a text without anything that could lead elsewhere. */
  | 'plain'
  /** Read from a tool whose results outsiders write. */
  | 'tool'
  | 'unknown'

/** One argument of a call that was judged. Its texts are cut and printable. */
export type FlowFact = {
  /** `to`, `attachments[0].file_id`; empty for the call itself. */
  argument: string
  /** Absent: it may not be shown. */
  value?: string
  warranted: boolean
  origin: FlowOrigin
  why: string
  /** The call whose result holds the value, its tool, and how many calls there were up to it. */
  call?: string
  tool?: string
  number?: number
  /** What that tool read. */
  uri?: string
  /** The words around the value there. */
  around?: string
}

/** Of how many arguments a text says where they came from. */
const mostDescribed = 6

/** Where each argument came from, in sentences for a person: those without a warrant first. */
export function describeFacts(facts: readonly FlowFact[]): string {
  const ordered = [...facts].sort((a, b) => Number(a.warranted) - Number(b.warranted))
  const lines = ordered.slice(0, mostDescribed).map(({ argument, value, warranted, why, around }) => {
    if (argument === '') return why
    if (warranted) return `${argument}: ${why}`
    const quoted = around === undefined ? '' : ` (“${around}”)`
    return `${argument}: \`${value ?? '(hidden)'}\`: ${why}${quoted}`
  })
  if (facts.length > mostDescribed) lines.push(`and ${facts.length - mostDescribed} more`)
  return lines.join('; ')
}

/** The reason of a question without these sentences, for those who show the facts beside it. */
export function withoutFacts(reason: string | undefined, facts: readonly FlowFact[]): string | undefined {
  const words = describeFacts(facts)
  const own = reason?.endsWith(words) ? reason.slice(0, reason.length - words.length).trim() : reason
  return own === '' ? undefined : own
}

/** The facts of a call that acts. `tainted`: untrusted text was read before it. */
export type CallFlow = {
  mode: Exclude<FlowMode, 'off'>
  tainted: boolean
  warranted: boolean
  facts: FlowFact[]
}

/** The tool with which a model names the tools that it will act with. */
export const planActionsName = 'plan_actions'

/** Sent in place of the entries that a summary replaces. The answer to it may hold what untrusted tools returned. */
export const summaryQuestion = 'Sum up our conversation so far.'

/** The user said it: it is no attachment, and not what the runtime tells a model in the place of a user. */
export function isUsers(part: InputPart): part is TextPart {
  return isSpoken(part) && !part.text.includes(checkedWords)
}

// ---- in JSON Schema ----------------------------------------------------------------------------------------------

/** On a property of an input schema: its role. On the schema itself: the labels of the tool. */
const roleKeyword = 'x-turnwire-role'
export const labelsKeyword = 'x-turnwire-flow'

/** The schema without these keywords, and what they say. The same schema if it has none. */
export function takeLabels(schema: JsonObject): { schema: JsonObject; labels?: JsonObject } {
  const { properties, [labelsKeyword]: given, ...rest } = schema
  const roles: [string, Json][] = []
  const plain: [string, Json][] = []
  for (const [name, property] of isJsonObject(properties) ? Object.entries(properties) : [])
    if (isJsonObject(property) && property[roleKeyword] !== undefined) {
      const { [roleKeyword]: role, ...without } = property
      roles.push([name, role as Json])
      plain.push([name, without])
    } else plain.push([name, property])
  if (given === undefined && roles.length === 0) return { schema }
  const labels: JsonObject = isJsonObject(given) ? { ...given } : {}
  if (roles.length > 0) {
    const args = isJsonObject(labels['args']) ? labels['args'] : {}
    labels['args'] = { ...args, ...Object.fromEntries(roles) }
  }
  const stripped = properties === undefined ? rest : { ...rest, properties: Object.fromEntries(plain) }
  return { schema: stripped, labels }
}

const texts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every(each => typeof each === 'string')
const record = (value: unknown, isOne: (each: unknown) => boolean): boolean =>
  isJsonObject(value) && Object.values(value).every(isOne)
const text = (value: unknown): boolean => typeof value === 'string' && value !== ''
const flag = (value: unknown): boolean => typeof value === 'boolean'

const checks: { readonly [Key in keyof Required<FlowLabels>]: [(value: unknown) => boolean, string] } = {
  output: [value => value === 'trusted' || value === 'untrusted', '"trusted" or "untrusted"'],
  outsiders: [texts, 'a list of names of fields'],
  effect: [value => flowEffects.some(each => each === value), `one of: ${flowEffects.join(', ')}`],
  destroys: [flag, 'true or false'],
  args: [
    value => record(value, each => flowRoles.some(role => role === each)),
    `an object of roles, each one of: ${flowRoles.join(', ')}`,
  ],
  record: [text, 'a text'],
  ids: [value => record(value, text), 'an object of texts'],
  creates: [flag, 'true or false'],
  private: [flag, 'true or false'],
  words: [texts, 'a list of words'],
  stated: [flag, 'true or false'],
}

/** What is wrong with labels, to complete "the tool …"; undefined if they are right. */
export function labelProblem(labels: unknown): string | undefined {
  if (!isJsonObject(labels))
    return 'has "flow" as something else than an object such as { output: "trusted" }'
  for (const [name, value] of Object.entries(labels)) {
    if (!Object.hasOwn(checks, name))
      return `has the unknown label ${JSON.stringify(name)} in "flow"; known are: ${Object.keys(checks).join(', ')}`
    const [holds, words] = checks[name as keyof typeof checks]
    if (value !== undefined && !holds(value)) return `has "flow.${name}" as something else than ${words}`
  }
  return undefined
}

/** What the tools of an agent can do together. */
export type AgentFlowReport = {
  agent: string
  mode: FlowMode
  /** Names of tools; `agent/tool` for one of an agent that it can use. */
  untrusted: string[]
  private: string[]
  acting: string[]
  /** Those of `acting` that run with nobody asked, whatever their arguments are. */
  unasked: string[]
  /** Tools that nobody has labelled. They count as all of it. */
  unlabelled: string[]
  /** A tool of each kind, or of two where one tool is both. */
  paths: string[][]
  /** How many paths there are, if more than are listed. */
  pathCount: number
  /** How to close the paths, in the words of a configuration. Absent: there is none. */
  closedBy?: string
  /** Servers whose tools are not known here. */
  servers: string[]
}
