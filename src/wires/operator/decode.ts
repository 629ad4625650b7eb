// Requests of the operator API as commands of the engine. Pure: nothing here knows HTTP.

import type { ActivityQuery, Command, ModelAnswer } from '../../engine/index.ts'
import type { SessionOrder } from '../../language/activity.ts'
import { TurnwireError } from '../../language/errors.ts'
import { type Settings, waitModes } from '../../language/events.ts'
import { answerActions, type FormContent } from '../../language/questions.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { type FieldType, fieldReader, names } from '../../lib/json/fields.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { present } from '../../lib/json/present.ts'
import { checkDeclaredSchema } from '../../lib/schema/declared.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import type { Principal } from '../host.ts'
import { clientTool } from '../own-tools.ts'
import type {
  ChangedResult,
  ForkRequest,
  JudgeRequest,
  ListedStatus,
  SessionQuery,
  TrialRequest,
} from './schema.ts'

export const wireName = 'operator'

const bad = (message: string): TurnwireError => new TurnwireError('bad_request', message)

/** The error for a key without the operator scope. */
export const needsOperator = (): TurnwireError =>
  new TurnwireError(
    'forbidden',
    'This needs a key of scope operator. Make one with: turnwire keys add <name> --operator',
  )

const expectations: Record<FieldType, string> = {
  object: 'an object',
  list: 'a list',
  text: 'a text',
  flag: 'true or false',
  number: 'a number',
  integer: 'a whole number',
}
const mustBe = (path: string, expected: FieldType): TurnwireError =>
  bad(`"${path}" must be ${expectations[expected]}.`)

export const { object, objects, text, flag, count, oneOf, optional, onlyKnown } = fieldReader({
  missing: mustBe,
  wrongType: mustBe,
  notOneOf: (path, _given, words) => bad(`"${path}" must be one of: ${words.join(', ')}.`),
  outOfRange: path => bad(`"${path}" is too long, too short, or out of range.`),
  unknown: (path, name) => bad(`${path === '' ? 'The body' : `"${path}"`} has no field "${name}".`),
})

const name = (value: Json | undefined, path: string): string => text(value, path, { min: 1, max: 256 })
const optionalName = (body: JsonObject, field: string): string | undefined =>
  optional(body[field], field, name)

// ---- commands ----------------------------------------------------------------------------------------------

const durings = ['refuse', ...waitModes] as const

function reasonIn(body: JsonObject): { reason?: string } {
  const reason = optional(body['reason'], 'reason', text)
  return reason === undefined ? {} : { reason }
}

/** `operators`: no protocol for applications lets a client do this to its own session, so a key without the scope may not. */
type Decoder = {
  fields: ReadonlySet<string>
  operators?: true
  decode(body: JsonObject, by: string): Command
}

const decoders: Record<string, Decoder> = {
  say: {
    fields: names('do text model during'),
    decode: body => {
      const during = optional(body['during'], 'during', (value, path) => oneOf(value, path, durings))
      return {
        do: 'say',
        wire: wireName,
        parts: [{ type: 'text', text: text(body['text'], 'text', { min: 1 }) }],
        ...modelSetting(body),
        ...(during && { during }),
      }
    },
  },
  decide: {
    fields: names('do callId granted reason edit seen remember'),
    decode: (body, by) => ({ do: 'respond', results: [], decisions: [decodeDecision(body, by)] }),
  },
  result: {
    fields: names('do callId text failed'),
    decode: body => ({
      do: 'respond',
      decisions: [],
      results: [
        {
          callId: name(body['callId'], 'callId'),
          parts: [{ type: 'text', text: text(body['text'], 'text') }],
          ...(optional(body['failed'], 'failed', flag) && { failed: true }),
        },
      ],
    }),
  },
  answer: {
    fields: names('do question action content'),
    decode: (body, by) => ({ do: 'respond', results: [], decisions: [], answers: [decodeReply(body, by)] }),
  },
  call: {
    fields: names('do tool input'),
    operators: true,
    decode: (body, by) => ({
      do: 'call',
      wire: wireName,
      by,
      tool: name(body['tool'], 'tool'),
      text: argumentsText(body['input'], 'input'),
    }),
  },
  configure: {
    fields: names('do model tools'),
    decode: body => ({ do: 'configure', settings: { ...modelSetting(body).settings, ...toolSetting(body) } }),
  },
  grant: {
    fields: names('do tool toolHash argsHash where expiresAt uses'),
    decode: (body, by) => ({ do: 'grant', grant: decodeGrant(body, by) }),
  },
  revoke: {
    fields: names('do grantId'),
    decode: (body, by) => ({ do: 'revoke', grantId: name(body['grantId'], 'grantId'), by }),
  },
  cancel: {
    fields: names('do withdraw'),
    decode: (body, by) => ({
      do: 'cancel',
      ...(optional(body['withdraw'], 'withdraw', flag) && { withdraw: by }),
    }),
  },
  'cancel-call': {
    fields: names('do callId reason'),
    decode: (body, by) => ({
      do: 'cancel-call',
      callId: name(body['callId'], 'callId'),
      by,
      ...reasonIn(body),
    }),
  },
  reconcile: {
    fields: names('do callId'),
    decode: (body, by) => ({ do: 'reconcile', callId: name(body['callId'], 'callId'), by }),
  },
  undo: {
    fields: names('do callId'),
    decode: (body, by) => ({ do: 'undo', callId: name(body['callId'], 'callId'), by, wire: wireName }),
  },
  withdraw: {
    fields: names('do message reason'),
    decode: (body, by) => ({
      do: 'withdraw',
      message: name(body['message'], 'message'),
      by,
      ...reasonIn(body),
    }),
  },
  compact: { fields: names('do'), decode: () => ({ do: 'compact' }) },
  'take-control': {
    fields: names('do force'),
    operators: true,
    decode: (body, by) => ({
      do: 'take-control',
      by,
      ...(optional(body['force'], 'force', flag) && { force: true }),
    }),
  },
  perform: { fields: names('do'), operators: true, decode: (_body, by) => ({ do: 'perform', by }) },
  'answer-model': {
    fields: names('do text calls'),
    operators: true,
    decode: (body, by) => ({ do: 'answer-model', by, answer: decodeAnswer(body) }),
  },
  'answer-call': {
    fields: names('do callId text'),
    operators: true,
    decode: (body, by) => ({
      do: 'answer-call',
      by,
      callId: name(body['callId'], 'callId'),
      output: { parts: [{ type: 'text', text: text(body['text'], 'text') }] },
    }),
  },
  'replace-arguments': {
    fields: names('do callId input'),
    operators: true,
    decode: (body, by) => ({
      do: 'replace-arguments',
      by,
      callId: name(body['callId'], 'callId'),
      text: argumentsText(body['input'], 'input'),
    }),
  },
  'release-control': {
    fields: names('do'),
    operators: true,
    decode: (_body, by) => ({ do: 'release-control', by }),
  },
}

/** `by`: who is recorded as the one who did it. Throws `forbidden` for a command that needs an operator. */
export function decodeCommand(body: JsonObject, { name: by, operator }: Principal): Command {
  const decoder = decoders[oneOf(body['do'], 'do', Object.keys(decoders))]!
  if (decoder.operators && !operator) throw needsOperator()
  onlyKnown(body, decoder.fields, '')
  return decoder.decode(body, by)
}

function decodeDecision(body: JsonObject, by: string) {
  return {
    callId: name(body['callId'], 'callId'),
    granted: flag(body['granted'], 'granted'),
    by,
    ...present({
      reason: optional(body['reason'], 'reason', (value, path) => text(value, path, { max: 4096 })),
      edit: optional(body['edit'], 'edit', object),
      seen: optionalName(body, 'seen'),
    }),
    ...(optional(body['remember'], 'remember', flag) && { remember: true as const }),
  }
}

/** An answer in place of the model: its text, and its calls by the names of their tools. */
function decodeAnswer(body: JsonObject): ModelAnswer {
  const said = optional(body['text'], 'text', text) ?? ''
  const calls =
    optional(body['calls'], 'calls', (value, path) =>
      objects(value, path, (item, at) => ({
        type: 'call' as const,
        name: name(item['tool'], `${at}.tool`),
        form: typeof item['input'] === 'string' ? ('text' as const) : ('json' as const),
        text: argumentsText(item['input'], `${at}.input`),
      })),
    ) ?? []
  if (said === '' && calls.length === 0) throw bad('An answer has "text", "calls" or both.')
  const parts = [...(said === '' ? [] : [{ type: 'text' as const, text: said }]), ...calls]
  return { parts, stop: calls.length > 0 ? 'calls' : 'end' }
}

/** A person's answer to a question of a running call. The engine checks the content against the question's form. */
function decodeReply(body: JsonObject, by: string) {
  const content = optional(body['content'], 'content', object)
  return {
    question: name(body['question'], 'question'),
    action: oneOf(body['action'], 'action', answerActions),
    by,
    ...(content && { content: content as FormContent }), // checked by the engine
  }
}

function decodeGrant(body: JsonObject, by: string) {
  return {
    tool: name(body['tool'], 'tool'),
    toolHash: name(body['toolHash'], 'toolHash'),
    by,
    ...present({
      argsHash: optionalName(body, 'argsHash'),
      where: optional(body['where'], 'where', decodePatterns),
      expiresAt: optional(body['expiresAt'], 'expiresAt', count),
      usesLeft: optional(body['uses'], 'uses', count),
    }),
  }
}

/** The engine checks the patterns themselves. */
function decodePatterns(value: Json, path: string): Record<string, string> {
  const pairs = Object.entries(object(value, path))
  return Object.fromEntries(
    pairs.map(([argument, pattern]) => [argument, text(pattern, `${path}.${argument}`)]),
  )
}

/** Arguments are an object, or the text of a tool that takes text. */
function argumentsText(value: Json | undefined, path: string): string {
  return typeof value === 'string' ? value : JSON.stringify(object(value, path))
}

function modelSetting(body: JsonObject): { settings?: Pick<Settings, 'model'> } {
  const model = optionalName(body, 'model')
  return model === undefined ? {} : { settings: { model } }
}

function toolSetting(body: JsonObject): Partial<Pick<Settings, 'tools'>> {
  const tools = optional(body['tools'], 'tools', (value, path) =>
    objects(value, path, (item, at) => ({
      name: name(item['name'], `${at}.name`),
      trust: optional(item['trust'], `${at}.trust`, flag) ?? false,
    })),
  )
  return tools ? { tools } : {}
}

// ---- sessions ----------------------------------------------------------------------------------------------

export type CreateRequest = { agent: string; model?: string; owner?: string; tools: ToolDeclaration[] }

export function decodeCreate(body: JsonObject): CreateRequest {
  onlyKnown(body, names('agent model owner tools'), '')
  return {
    agent: name(body['agent'], 'agent'),
    tools: optional(body['tools'], 'tools', (value, path) => objects(value, path, decodeTool)) ?? [],
    ...present({ model: optionalName(body, 'model'), owner: optionalName(body, 'owner') }),
  }
}

function decodeTool(item: JsonObject, at: string): ToolDeclaration {
  const schema = object(item['parameters'], `${at}.parameters`)
  try {
    checkDeclaredSchema(schema)
  } catch (error) {
    throw new TurnwireError('invalid_tool', `"${at}.parameters" cannot be used: ${errorMessage(error)}`)
  }
  const called = text(item['name'], `${at}.name`, { pattern: /^[A-Za-z0-9_\-.:/]{1,128}$/ })
  return clientTool(called, text(item['description'], `${at}.description`), { form: 'json', schema })
}

export function decodeFork(body: JsonObject): ForkRequest {
  onlyKnown(body, names('upTo agent model text results'), '')
  return present({
    upTo: optional(body['upTo'], 'upTo', count),
    agent: optionalName(body, 'agent'),
    model: optionalName(body, 'model'),
    text: optional(body['text'], 'text', (value, path) => text(value, path, { min: 1 })),
    results: optional(body['results'], 'results', (value, path) => objects(value, path, changedResult)),
  })
}

function changedResult(given: Json, path: string): ChangedResult {
  const result = object(given, path)
  onlyKnown(result, names('callId text failed'), path)
  return {
    callId: name(result['callId'], `${path}.callId`),
    text: text(result['text'], `${path}.text`),
    ...present({ failed: optional(result['failed'], `${path}.failed`, flag) }),
  }
}

export function decodeTrial(body: JsonObject): TrialRequest {
  onlyKnown(body, names('at model system rules result people'), '')
  const people = ['allow', 'reject'] as const
  return {
    at: count(body['at'], 'at'),
    ...present({
      model: optionalName(body, 'model'),
      system: optional(body['system'], 'system', text),
      rules: optional(body['rules'], 'rules', text),
      result: optional(body['result'], 'result', changedResult),
      people: optional(body['people'], 'people', (value, path) => oneOf(value, path, people)),
    }),
  }
}

export function decodeJudge(body: JsonObject): JudgeRequest {
  onlyKnown(body, names('agent tool input owner session'), '')
  const { input = {} } = body
  if (typeof input !== 'string') object(input, 'input')
  return {
    tool: name(body['tool'], 'tool'),
    input,
    ...present({
      agent: optionalName(body, 'agent'),
      owner: optionalName(body, 'owner'),
      session: optionalName(body, 'session'),
    }),
  }
}

// ---- lists -------------------------------------------------------------------------------------------------

const statuses: readonly ListedStatus[] = ['idle', 'running', 'waiting', 'failed']

export type ListQuery = SessionQuery & { limit: number }

/** `query` gives a parameter of the address. */
export function decodeList(query: (name: string) => string | undefined): ListQuery {
  const given = (field: string): string | undefined => query(field) || undefined
  return {
    limit: wholeNumber(given('limit') ?? '50', 'limit', 1, 200),
    ...present({
      status: optional(given('status'), 'status', (value, path) => oneOf(value, path, statuses)),
      after: given('after'),
      agent: given('agent'),
      owner: given('owner'),
      model: given('model'),
      q: given('q'),
      from: time(given('from'), 'from'),
      to: time(given('to'), 'to'),
      sort: optional(given('sort'), 'sort', (value, path) => oneOf(value, path, orders)),
      ascending: given('ascending') === 'true' ? true : undefined,
    }),
  }
}

function time(given: string | undefined, path: string): number | undefined {
  return given === undefined ? undefined : wholeNumber(given, path, 0, Number.MAX_SAFE_INTEGER)
}

const orders = ['created', 'changed', 'cost', 'tokens', 'lasted'] as const satisfies readonly SessionOrder[]

const hourMs = 3_600_000
/** Of the hours and days that one report has. */
const mostDays = 366

/** Whole hours, or whole days of someone whose clock is `zone` minutes ahead of UTC. */
export function decodeActivity(query: (name: string) => string | undefined, now: number): ActivityQuery {
  const days = wholeNumber(query('days') || '7', 'days', 1, mostDays)
  const zone = query('zone') || '0'
  const zoneMs =
    (zone.startsWith('-') ? -1 : 1) * wholeNumber(zone.replace('-', ''), 'zone', 0, 14 * 60) * 60_000
  const slotMs = days === 1 ? hourMs : 24 * hourMs
  const until = (Math.floor((now + zoneMs) / slotMs) + 1) * slotMs - zoneMs
  return { since: until - days * 24 * hourMs, until, slotMs, zoneMs }
}

export function wholeNumber(given: string, path: string, least: number, most: number): number {
  const number = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN
  if (number >= least && number <= most) return number
  throw bad(`"${path}" must be a whole number from ${least} to ${most}.`)
}
