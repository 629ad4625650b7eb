// Request bodies, decoded into what commands need. The versions differ in one field name only (a tool's schema); their other
// differences are in serve.ts.

import type {
  AgentInfo,
  During,
  GivenAnswer,
  GivenDecision,
  GivenResult,
  GivenSettings,
  SessionCall,
} from '../../engine/index.ts'
import type { InputPart } from '../../language/content.ts'
import { type Settings, waitModes } from '../../language/events.ts'
import { answerActions, type FormContent } from '../../language/questions.ts'
import { maskedSecret } from '../../language/seals.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { clientTool } from '../own-tools.ts'
import { callQuestions } from '../waiting-calls.ts'
import { decodeParts } from './decode-content.ts'
import type { StreamMode, Version } from './schema.ts'
import { boundedName, callIdField, flag, list, object, optional, refuseAap, text } from './wordings.ts'

/** How long a client may run a call before another may take it. */
const longestClaimMs = 60 * 60 * 1000

export function decodeClaim(body: JsonObject): { callId: string; by: string; forMs: number } {
  const forMs = optional(body['forMs'], 'forMs', value => value) ?? 60_000
  if (typeof forMs !== 'number' || !(forMs >= 1 && forMs <= longestClaimMs))
    refuseAap(`forMs must be a number from 1 to ${longestClaimMs}.`)
  return {
    callId: callIdField(body['toolCallId'], 'toolCallId'),
    by: callIdField(body['claimant'], 'claimant'),
    forMs,
  }
}

// ---- turns ------------------------------------------------------------------------------------------------

export type UserTurn = { type: 'user'; parts: InputPart[] }
export type AnswerTurn = {
  type: 'answers'
  results: GivenResult[]
  decisions: Omit<GivenDecision, 'by'>[]
  answers: Omit<GivenAnswer, 'by'>[]
}

/** Exactly one user message, or any number of results and permissions. */
export function decodeTurnMessages(value: Json | undefined, agent: AgentInfo): UserTurn | AnswerTurn {
  const messages = list(value, 'messages').map((item, index) => object(item, `messages[${index}]`))
  if (messages.length === 0)
    refuseAap(
      'messages is empty. Send one user message, or the results and permissions that the turn waits for.',
    )
  if (messages.some(message => message['role'] === 'user')) return decodeUser(messages, agent)
  const answers: AnswerTurn = { type: 'answers', results: [], decisions: [], answers: [] }
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message['role'] === 'tool')
      answers.results.push({
        callId: callIdField(message['toolCallId'], `${at}.toolCallId`),
        parts: decodeParts(message['content'], `${at}.content`, agent.images),
      })
    else if (message['role'] === 'tool_permission') answers.decisions.push(decodePermission(message, at))
    else if (message['role'] === 'tool_answer') answers.answers.push(decodeToolAnswer(message, at))
    else
      refuseAap(
        `${at}.role must be "user", "tool", "tool_permission" or "tool_answer". The server keeps the history: send only what is new.`,
      )
  }
  return answers
}

/**
 * A client of the plain protocol takes a call that asks a question for one that needs a permission. So a denial declines what
 * the call asks, and a grant accepts it, with `input` as the form.
 */
export function withQuestionsAnswered(turn: AnswerTurn, calls: readonly SessionCall[]): AnswerTurn {
  const answered = new Set(turn.answers.map(({ question }) => question))
  const decisions: AnswerTurn['decisions'] = []
  const answers = [...turn.answers]
  for (const decision of turn.decisions) {
    const { granted, edit } = decision
    const open = callQuestions(calls.find(({ part }) => part.id === decision.callId))
    if (open.length === 0) decisions.push(decision)
    for (const { id: question, schema } of open) {
      if (answered.has(question)) continue
      // The engine checks it against the form.
      const content = (edit ?? {}) as FormContent
      answers.push({
        question,
        action: granted ? 'accept' : 'decline',
        ...(granted && schema && { content }),
      })
    }
  }
  return { ...turn, decisions, answers }
}

export function decodeUser(messages: readonly JsonObject[], agent: AgentInfo): UserTurn {
  const [message] = messages
  if (messages.length > 1 || !message)
    refuseAap(
      'A user message is sent alone. Send results and permissions first, in one turn, or leave them out: then the calls that wait are abandoned.',
    )
  const parts = decodeParts(message['content'], 'messages[0].content', agent.images)
  if (parts.length === 0) refuseAap('The user message is empty. Send some text or an image.')
  return { type: 'user', parts }
}

const durings: readonly During[] = ['refuse', ...waitModes]

/** Beyond the protocol: what becomes of a message while a turn is under way. */
export function decodeDuring(value: Json | undefined, { type }: UserTurn | AnswerTurn): During | undefined {
  if (value === undefined || value === null) return undefined
  const during = durings.find(each => each === value)
  if (!during) refuseAap(`during must be one of: ${durings.join(', ')}.`)
  if (type !== 'user') refuseAap('during goes with a user message only.')
  return during
}

/** Of the address of a cancellation. */
export function decodeWithdraw(value: string | undefined): boolean {
  if (value !== undefined && value !== 'true' && value !== 'false')
    refuseAap('withdraw must be true or false.')
  return value === 'true'
}

export function decodeReason(body: JsonObject): { reason?: string } {
  const reason = optional(body['reason'], 'reason', text)
  return reason === undefined ? {} : { reason }
}

function decodePermission(message: JsonObject, at: string): Omit<GivenDecision, 'by'> {
  const granted = flag(message['granted'], `${at}.granted`)
  const reason = optional(message['reason'], `${at}.reason`, text)
  const input = optional(message['input'], `${at}.input`, object)
  if (input && !granted)
    refuseAap(`${at}.input goes with granted: true only: a denied call runs with no arguments.`)
  return {
    callId: callIdField(message['toolCallId'], `${at}.toolCallId`),
    granted,
    ...(reason !== undefined && { reason }),
    ...(input && { edit: input }),
  }
}

function decodeToolAnswer(message: JsonObject, at: string): Omit<GivenAnswer, 'by'> {
  const action = answerActions.find(each => each === message['action'])
  if (!action) refuseAap(`${at}.action must be "accept", "decline" or "cancel".`)
  const content = optional(message['content'], `${at}.content`, object)
  return {
    question: callIdField(message['questionId'], `${at}.questionId`),
    action,
    // The engine checks it against the form.
    ...(content && { content: content as FormContent }),
  }
}

export function decodeStream(value: Json): StreamMode {
  if (value === 'delta' || value === 'message' || value === 'none') return value
  return refuseAap('stream must be "delta", "message" or "none".')
}

// ---- settings -----------------------------------------------------------------------------------------------

export type Chosen = { tools?: { name: string; trust: boolean }[]; options?: Record<string, string> }

/** `agent` of a body: the exposed server tools that are on, and option values. */
export function decodeChosen(agent: JsonObject): Chosen {
  const tools = optional(agent['tools'], 'agent.tools', list)
  const options = optional(agent['options'], 'agent.options', object)
  return {
    ...(tools && {
      tools: tools.map((item, index) => {
        const ref = object(item, `agent.tools[${index}]`)
        return {
          name: boundedName(ref['name'], `agent.tools[${index}].name`),
          trust: optional(ref['trust'], `agent.tools[${index}].trust`, flag) ?? false,
        }
      }),
    }),
    ...(options && {
      options: Object.fromEntries(
        Object.entries(options).map(([key, value]) => [
          boundedName(key, 'The name of an option'),
          text(value, `agent.options["${key.slice(0, 128).toWellFormed()}"]`),
        ]),
      ),
    }),
  }
}

/** A client's own tools. */
export function decodeTools(value: Json | undefined, version: Version): ToolDeclaration[] | undefined {
  const field = version === 3 ? 'parameters' : 'inputSchema'
  return optional(value, 'tools', list)?.map((item, index) => {
    const at = `tools[${index}]`
    const spec = object(item, at)
    const title = optional(spec['title'], `${at}.title`, text)
    const name = text(spec['name'], `${at}.name`)
    const description = text(spec['description'], `${at}.description`)
    const schema = object(spec[field], `${at}.${field}`)
    return {
      ...clientTool(name, description, { form: 'json', schema }),
      ...(title !== undefined && { title }),
    }
  })
}

/** A masked secret says nothing new: it is left as it is. */
export function givenOptions(
  options: Readonly<Record<string, string>>,
  agent: AgentInfo,
): Record<string, string | null> {
  const isSecret = (name: string): boolean =>
    agent.options.some(option => option.name === name && option.type === 'secret')
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name,
      value === maskedSecret && isSecret(name) ? null : value,
    ]),
  )
}

/** The changes of a turn to the settings: lists replace, options merge. */
export function decodeOverrides(
  body: JsonObject,
  version: Version,
  agent: AgentInfo,
  current: Settings,
): Partial<GivenSettings> | undefined {
  const config = optional(body['agent'], 'agent', object)
  const named = config && optional(config['name'], 'agent.name', text)
  if (named !== undefined && named !== agent.name)
    refuseAap(`A session stays with its agent, "${agent.name}". Create another session to use another agent.`)
  const chosen = config ? decodeChosen(config) : {}
  const clientTools = decodeTools(body['tools'], version)
  const settings: Partial<GivenSettings> = {
    ...(chosen.tools && { tools: chosen.tools }),
    ...(chosen.options && {
      options: { ...unchanged(current.options), ...givenOptions(chosen.options, agent) },
    }),
    ...(clientTools && { clientTools }),
  }
  return Object.keys(settings).length > 0 ? settings : undefined
}

function unchanged(options: Settings['options']): Record<string, string | null> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, typeof value === 'string' ? value : null]),
  )
}
