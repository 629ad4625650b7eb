// The request that a session would send next, to its own model or to any of the five APIs, made without a network or a key.
// It reads the session and changes nothing: calls that wait are taken as a next message would leave them.

import { buildAgents } from '../config/build-agent.ts'
import type { TurnwireConfig } from '../config/config.ts'
import type { Engine, Model, SessionSummary } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Settings } from '../language/events.ts'
import { judgeGrammars } from '../models/common/text-tools.ts'
import {
  anthropic,
  gemini,
  geminiInteractions,
  openai,
  openaiChat,
  type Prepared,
  preparedFor,
} from '../models/index.ts'

type Api = { make: (options: { model: string }) => Model; model: string }

const apis = {
  anthropic: { make: anthropic, model: 'claude-sonnet-4-6' },
  'openai-responses': { make: openai, model: 'gpt-5.2' },
  'openai-chat': { make: openaiChat, model: 'gpt-5.2' },
  gemini: { make: gemini, model: 'gemini-3-pro' },
  'gemini-interactions': { make: geminiInteractions, model: 'gemini-3-pro' },
} satisfies Record<string, Api>

export type ModelApi = keyof typeof apis
export const modelApis = Object.keys(apis) as ModelApi[] // The keys of the record above, and no others.

/** The vendor's name of the model, where none is given. */
export const defaultModels = Object.fromEntries(modelApis.map(api => [api, apis[api].model])) as Readonly<
  Record<ModelApi, string>
> // One for each of the keys.

export type PrepareOptions = {
  /** Absent: the session's own model. */
  as?: ModelApi
  /** The vendor's name of the model. */
  model?: string
  /** The user's next message, for a session that rests or waits. */
  say?: string
}

const standInMessage = '(the next message)'

/** Throws `config_invalid` when the session's own model sends no requests. */
export async function prepareSession(
  engine: Engine,
  { id, owner, agent, settings, turn, calls }: SessionSummary,
  config: TurnwireConfig,
  options: PrepareOptions = {},
): Promise<Prepared> {
  const model = modelFor(agent, settings, config, options)
  const isNext = turn === undefined || calls.length > 0
  const text = isNext ? (options.say ?? standInMessage) : undefined
  const request = await engine.history(
    { owner, session: id },
    { get: 'request', ...(text !== undefined && { text }) },
  )
  await judgeGrammars(request.tools, owner)
  const prepared = preparedFor(model, request)
  if (prepared !== undefined) return prepared
  throw new TurnwireError(
    'config_invalid',
    `The model of this session, ${model.id}, sends no requests. Say whose form is wanted: --as ${modelApis.join(' | ')}`,
  )
}

function modelFor(
  name: string,
  settings: Settings,
  config: TurnwireConfig,
  { as, model }: PrepareOptions,
): Model {
  if (as !== undefined) return apis[as].make({ model: model ?? apis[as].model })
  const agent = buildAgents(config, () => {}).find(each => each.name === name)
  if (agent !== undefined) return agent.model(settings)
  throw new TurnwireError(
    'unknown_agent',
    `The configuration has no agent "${name}", whose model would be asked. Say whose form is wanted with --as.`,
  )
}
