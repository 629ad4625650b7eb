// The request that a session would send next, to its own model or to any of the five APIs, put together with no network
// and no key. It reads the session and changes nothing: what waits is taken as a next message would leave it.

import {
  type Agent,
  evolve,
  fold,
  type Model,
  type ModelRequest,
  offerOf,
  outcomes,
  requestOf,
  type SessionState,
  type Store,
} from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import {
  anthropic,
  gemini,
  geminiInteractions,
  openai,
  openaiChat,
  type Prepared,
  preparedFor,
} from '../models/index.ts'
import { buildAgents } from './build-agent.ts'
import type { TurnwireConfig } from './config.ts'

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

export type PrepareOptions = {
  /** Absent: the session's own model. */
  as?: ModelApi
  /** The vendor's name of the model. */
  model?: string
  /** What the user says next, for a session that rests or waits. */
  say?: string
}

export const NEXT_MESSAGE = '(the next message)'

/** Throws `session_not_found`; `config_invalid` when the session's own model sends nothing. */
export async function prepareSession(
  store: Store,
  id: string,
  config: TurnwireConfig,
  options: PrepareOptions = {},
): Promise<Prepared> {
  if ((await store.row(id)) === undefined)
    throw new TurnwireError('session_not_found', `There is no session "${id}" in this store.`)
  const state = fold(id, await store.read(id))
  const agent = buildAgents(config, () => {}).find(({ name }) => name === state.agent)
  if (state.turn === null || state.batch.length > 0) sayNext(state, options.say ?? NEXT_MESSAGE)
  const model = modelOf(agent, state, options)
  const prepared = preparedFor(model, requestFor(agent, state))
  if (prepared !== undefined) return prepared
  throw new TurnwireError(
    'config_invalid',
    `The model of this session, ${model.id}, sends no requests. Say whose form is wanted: --as ${modelApis.join(' | ')}`,
  )
}

/** The fold is ours alone: it is led on as the engine would lead the session on. */
function sayNext(state: SessionState, text: string): void {
  const at = state.updatedAt
  for (const { part } of state.batch.filter(({ stage }) => stage !== 'settled'))
    evolve(state, { v: 1, at, type: 'call.settled', callId: part.id, outcome: outcomes.abandoned() })
  const parts = [{ type: 'text' as const, text }]
  evolve(state, { v: 1, at, type: 'turn.started', turn: 'next', parts, wire: 'prepare' })
}

function modelOf(agent: Agent | undefined, state: SessionState, { as, model }: PrepareOptions): Model {
  if (as !== undefined) return apis[as].make({ model: model ?? apis[as].model })
  if (agent !== undefined) return agent.model(state.settings)
  throw new TurnwireError(
    'unknown_agent',
    `The configuration has no agent "${state.agent}", whose model would be asked. Say whose form is wanted with --as.`,
  )
}

/** Without its agent a session still has its history, and the tools that its client brought. */
function requestFor(agent: Agent | undefined, state: SessionState): ModelRequest {
  if (agent !== undefined)
    return requestOf(
      agent,
      { session: state.id, history: state.view, ask: state.turn?.ask ?? {} },
      { tools: offerOf(agent, state.settings).declarations, options: {} },
    )
  const tools: ToolDeclaration[] = state.settings.clientTools
  return {
    session: state.id,
    history: state.view,
    tools,
    choice: 'auto',
    parallel: true,
    options: {},
  }
}
