// Request bodies, into the engine's commands. The versions differ in one field name only (where a tool's schema
// stands); everything else that they do differently is in serve.ts.

import type { Agent, OptionValue } from '../../engine/index.ts'
import type { InputPart, ResultPart } from '../../language/content.ts'
import type { Settings } from '../../language/events.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { clientTool } from '../own-tools.ts'
import { decodeParts } from './decode-content.ts'
import { callId, flag, list, name, object, optional, refuse, text } from './fields.ts'
import type { StreamMode, Version } from './schema.ts'

// ---- what a turn says ---------------------------------------------------------------------------------------

export type Permission = { callId: string; granted: boolean; reason?: string; input?: JsonObject }
export type Said = { type: 'said'; parts: InputPart[] }
export type Answered = {
  type: 'answered'
  results: { callId: string; parts: ResultPart[] }[]
  permissions: Permission[]
}

/** Exactly one user message, or any number of results and permissions. */
export function decodeTurnMessages(value: Json | undefined, agent: Agent): Said | Answered {
  const messages = list(value, 'messages').map((item, index) => object(item, `messages[${index}]`))
  if (messages.length === 0)
    refuse(
      'messages is empty. Send one user message, or the results and permissions that the turn waits for.',
    )
  if (messages.some(message => message['role'] === 'user')) return decodeUser(messages, agent)
  const answered: Answered = { type: 'answered', results: [], permissions: [] }
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    if (message['role'] === 'tool')
      answered.results.push({
        callId: callId(message['toolCallId'], `${at}.toolCallId`),
        parts: decodeParts(message['content'], `${at}.content`, agent.images),
      })
    else if (message['role'] === 'tool_permission') answered.permissions.push(decodePermission(message, at))
    else
      refuse(
        `${at}.role must be "user", "tool" or "tool_permission". The server keeps the history: send only what is new.`,
      )
  }
  return answered
}

export function decodeUser(messages: readonly JsonObject[], agent: Agent): Said {
  const [message] = messages
  if (messages.length > 1 || !message)
    refuse(
      'A user message is sent alone. Send results and permissions first, in one turn, or leave them out: then the calls that wait are abandoned.',
    )
  const parts = decodeParts(message['content'], 'messages[0].content', agent.images)
  if (parts.length === 0) refuse('The user message is empty. Send some text or an image.')
  return { type: 'said', parts }
}

function decodePermission(message: JsonObject, at: string): Permission {
  const granted = flag(message['granted'], `${at}.granted`)
  const reason = optional(message['reason'], `${at}.reason`, text)
  const input = optional(message['input'], `${at}.input`, object)
  if (input && !granted)
    refuse(`${at}.input goes with granted: true only: a denied call runs with no arguments.`)
  return {
    callId: callId(message['toolCallId'], `${at}.toolCallId`),
    granted,
    ...(reason !== undefined && { reason }),
    ...(input && { input }),
  }
}

export function decodeStream(value: Json | undefined): StreamMode {
  if (value === undefined || value === null) return 'none'
  if (value === 'delta' || value === 'message' || value === 'none') return value
  return refuse('stream must be "delta", "message" or "none".')
}

// ---- what a session is set to -------------------------------------------------------------------------------

/** How secrets read wherever they are shown. */
export const masked = '***'

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
          name: name(ref['name'], `agent.tools[${index}].name`),
          trust: optional(ref['trust'], `agent.tools[${index}].trust`, flag) ?? false,
        }
      }),
    }),
    ...(options && {
      options: Object.fromEntries(
        Object.entries(options).map(([key, value]) => [
          name(key, 'The name of an option'),
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

type Seal = (text: string) => string

/** Secrets are sealed here, before they come near the engine. One that is only masked says nothing and is left out. */
export function sealOptions(
  options: Readonly<Record<string, string>>,
  agent: Agent,
  seal: Seal,
): Record<string, OptionValue> {
  const sealed: [string, OptionValue][] = []
  for (const [key, value] of Object.entries(options)) {
    if (agent.options.find(option => option.name === key)?.type !== 'secret') sealed.push([key, value])
    else if (value !== masked) sealed.push([key, { sealed: seal(value) }])
  }
  return Object.fromEntries(sealed)
}

/** What a turn changes of the settings: lists replace, options merge. */
export function decodeOverrides(
  body: JsonObject,
  version: Version,
  agent: Agent,
  current: Settings,
  seal: Seal,
): Partial<Settings> | undefined {
  const config = optional(body['agent'], 'agent', object)
  const named = config && optional(config['name'], 'agent.name', text)
  if (named !== undefined && named !== agent.name)
    refuse(`A session stays with its agent, "${agent.name}". Create another session to use another agent.`)
  const chosen = config ? decodeChosen(config) : {}
  const clientTools = decodeTools(body['tools'], version)
  const settings: Partial<Settings> = {
    ...(chosen.tools && { tools: chosen.tools }),
    ...(chosen.options && {
      options: { ...current.options, ...sealOptions(chosen.options, agent, seal) },
    }),
    ...(clientTools && { clientTools }),
  }
  return Object.keys(settings).length > 0 ? settings : undefined
}
