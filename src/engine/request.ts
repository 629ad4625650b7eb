// The request that a model is sent: the agent's own instructions and limits, and over them what the caller asks. Pure.
import type { Ask } from '../language/events.ts'
import type { Entry } from '../language/history.ts'
import { declarationOf } from './describe.ts'
import { offerOf } from './offer.ts'
import { outcomes } from './outcomes.ts'
import type { Agent, ModelRequest } from './ports.ts'
import type { SessionState } from './state.ts'

/** What a request is about: whose it is, the entries that the model reads, and what its caller asks. */
export type RequestSource = { session: string; history: ModelRequest['history']; ask: Ask }

/** `offered`: the tools, and the options with their secrets opened. */
export function requestOf(
  agent: Agent,
  { session, history, ask }: RequestSource,
  offered: Pick<ModelRequest, 'tools' | 'options'>,
): ModelRequest {
  const system = joinText(agent.system, ask.system)
  // A caller may ask for fewer tokens than the operator allows, never for more.
  const maxTokens = least(ask.maxTokens, agent.maxTokens)
  const request: ModelRequest = {
    session,
    history,
    tools: offered.tools,
    choice: ask.choice ?? agent.choice,
    parallel: ask.parallel ?? agent.parallel,
    options: offered.options,
  }
  if (system !== undefined) request.system = system
  if (maxTokens !== undefined) request.maxTokens = maxTokens
  if (agent.hosted === false || ask.clientOnly) request.hosted = false
  if (ask.body) request.body = ask.body
  return request
}

function least(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined || second === undefined ? (first ?? second) : Math.min(first, second)
}

function joinText(first: string | undefined, second: string | undefined): string | undefined {
  if (!first || !second) return first || second || undefined
  return `${first}\n\n${second}`
}

/** What the model would be asked next. `text`: if a user said this first. */
export function previewRequest(agent: Agent, state: SessionState, text: string | undefined): ModelRequest {
  const { settings, turn, view } = state
  const ask = turn?.ask ?? {}
  const tools = offerOf(agent, settings, [], ask.clientOnly).declarations
  const history = text === undefined ? view : [...view, ...openResults(state), userEntry(text)]
  const options = Object.fromEntries(agent.options.map(option => [option.name, option.default]))
  return structuredClone(
    requestOf(agent, { session: state.id, history, ask }, { tools: tools.map(declarationOf), options }),
  )
}

/** A message abandons the calls that still wait. */
function openResults({ batch }: SessionState): Entry[] {
  if (batch.length === 0) return []
  return [
    {
      role: 'tool',
      results: batch.map(({ part, outcome }) => ({
        callId: part.id,
        name: part.name,
        outcome: outcome ?? outcomes.abandoned(),
      })),
    },
  ]
}

const userEntry = (text: string): Entry => ({ role: 'user', parts: [{ type: 'text', text }] })
