// The request that a model is sent: the agent's own instructions and limits, and over them what the caller asks. Pure.
import type { Ask, Settings } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import { entriesWithoutSeals } from '../../language/seals.ts'
import type { ToolChoice } from '../../language/tools.ts'
import type { Agent, ModelRequest, Vault } from '../ports/index.ts'
import { pickDeclaration } from './describe.ts'
import { chooseDeclared, chooseSearch } from './loaded.ts'
import { buildOffer } from './offer.ts'
import { outcomes } from './outcomes.ts'
import type { SessionState } from './state.ts'

/** The parts of a request that its session or caller gives: the session, the entries that the model reads, the ask. */
export type RequestSource = {
  session: string
  history: ModelRequest['history']
  ask: Ask
  /** The model has made a call since it was asked. */
  called?: true
  trace?: ModelRequest['trace']
}

/** `offered`: the tools, and the options with their secrets opened. */
export function makeRequest(
  agent: Agent,
  { session, history, ask, called, trace }: RequestSource,
  offered: Pick<ModelRequest, 'tools' | 'options' | 'vendorSearch'>,
): ModelRequest {
  const system = ask.system ? joinText(agent.system, ask.system) : agent.system || undefined
  // A caller may ask for fewer tokens than the operator allows, never for more.
  const maxTokens = ask.maxTokens === undefined ? agent.maxTokens : least(ask.maxTokens, agent.maxTokens)
  const request: ModelRequest = {
    session,
    history,
    tools: offered.tools,
    choice: called ? withoutDemand(ask.choice ?? agent.choice) : (ask.choice ?? agent.choice),
    parallel: ask.parallel ?? agent.parallel,
    options: offered.options,
  }
  if (offered.vendorSearch) request.vendorSearch = true
  if (system !== undefined) request.system = system
  if (maxTokens !== undefined) request.maxTokens = maxTokens
  if (agent.hosted === false || ask.clientOnly) request.hosted = false
  const format = ask.format ?? agent.format
  if (format) request.format = format
  if (ask.hosted) request.clientHosted = ask.hosted
  if (ask.body) request.body = ask.body
  if (ask.to) request.to = ask.to
  if (trace) request.trace = trace
  return request
}

/** A call is demanded once in a turn: demanded at each step, it would keep the model from ever answering. */
function withoutDemand(choice: ToolChoice): ToolChoice {
  if (choice === 'required') return 'auto'
  if (typeof choice === 'string') return choice
  return 'tool' in choice ? 'auto' : { ...choice, mode: 'auto' }
}

/** The options as chosen, with secrets opened, and the defaults of the others. */
export function openedOptions(agent: Agent, settings: Settings, vault: Vault): Record<string, string> {
  const options: Record<string, string> = {}
  for (const { name, default: value } of agent.options) options[name] = value
  for (const [name, value] of Object.entries(settings.options))
    options[name] = typeof value === 'string' ? value : vault.open(value.sealed, 'option')
  return options
}

function least(first: number, second = Number.POSITIVE_INFINITY): number {
  return Math.min(first, second)
}

function joinText(first: string | undefined, second: string): string {
  return first ? `${first}\n\n${second}` : second
}

/** The next request to the model. `text`: as if a user had said this first. */
export function previewRequest(agent: Agent, state: SessionState, text: string | undefined): ModelRequest {
  const { settings, turn, view } = state
  const ask = turn?.ask ?? {}
  const { tools, vendorSearch } = chooseDeclared(buildOffer(agent, settings, [], ask.clientOnly), {
    ...chooseSearch(agent, ask, agent.model(settings)),
    loaded: state.loaded,
    isDenied: () => false,
  })
  const history = [
    ...entriesWithoutSeals(view),
    ...openResults(state),
    ...(text === undefined ? [] : [userEntry(text)]),
  ]
  const options = Object.fromEntries(agent.options.map(option => [option.name, option.default]))
  return structuredClone(
    makeRequest(
      agent,
      { session: state.id, history, ask, ...(turn?.called && { called: true }) },
      { tools: tools.map(pickDeclaration), options, ...(vendorSearch && { vendorSearch }) },
    ),
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
