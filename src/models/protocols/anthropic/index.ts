// Anthropic Messages as a protocol: the body of a request, and the door to the codec's other half. It says what the
// API looks like; where it is and who pays is a provider's. Sampling, thinking and the like are the target's words.

import type { ModelRequest } from '../../../engine/ports.ts'
import type { Origin } from '../../../language/content.ts'
import type { Entry } from '../../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { wireJson } from '../../common/artifacts.ts'
import type { Prepared, Protocol, Target } from '../../protocol.ts'
import { haltAnswer } from './answer.ts'
import { callersOf, tracesOf } from './context.ts'
import { initialState, type Reading, type State, stepAnswer } from './decode.ts'
import { calledNames, encodeHistory } from './encode.ts'
import { failureOfStatus } from './failure.ts'
import type { Warn } from './media.ts'
import { namesOf, planTools } from './tools.ts'

const NAME = 'anthropic'
const VERSION = '2023-06-01'
const MCP_BETA = 'mcp-client-2025-11-20'
const LEAST_BUDGET = 1024
/** This API wants a limit said; every model of today takes this one. */
const MOST_TOKENS = 32_000

/** What `initial` must know of a request beside its names, kept under these names: each request has a map of its own. */
const readings = new WeakMap<Prepared['names'], Reading>()

export const anthropicMessages: Protocol<State> = {
  name: NAME,
  prepare,
  initial(prepared) {
    const reading = readings.get(prepared.names)
    if (reading === undefined)
      throw new TypeError('initial() takes what prepare() of the same protocol gave.')
    return initialState(reading)
  },
  step: stepAnswer,
  halt: haltAnswer,
  failure: failureOfStatus,
}

function prepare(request: ModelRequest, target: Target): Prepared {
  const warnings: string[] = []
  const warn: Warn = warning => {
    if (!warnings.includes(warning)) warnings.push(warning)
  }
  const origin: Origin = { protocol: NAME, family: target.family }
  const { names, key } = namesOf(request.tools, target.hosted)
  const { system, spoken } = splitSystem(request)
  const { hosted } = target
  const traces = tracesOf(spoken, origin)
  const waitsIn = target.forgotten ? undefined : traces.container
  const talk = encodeHistory(spoken, {
    origin,
    names,
    namesKey: key,
    hosted,
    traces,
    container: waitsIn,
    warn,
  })
  const maxTokens = request.maxTokens ?? (target.maxTokens > 0 ? target.maxTokens : MOST_TOKENS)
  const thinking = thinkingField(target.body, maxTokens, talk.forbidsManualThinking, warn)
  const thinks = thinking !== undefined && thinking['type'] !== 'disabled'
  const mentioned = {
    called: () => calledNames(spoken, names),
    referred: traces.referred,
  }
  const plan = planTools(request, target, names, mentioned, thinks, warn)
  const {
    betas,
    thinking: _,
    container: given,
    messages: __,
    mcp_servers: servers,
    ...settings
  } = target.body
  const id = runsCode(target) || callersOf(spoken, origin).size > 0 ? waitsIn : undefined
  const container = id === undefined ? given : isJsonObject(given) ? { ...given, id } : id
  const mcp_servers = usedServers(servers, request, target, warn)
  const usesMcp = target.hosted.some(tool => tool['type'] === 'mcp_toolset') || traces.saysMcp
  const head: JsonObject = {
    ...settings,
    model: target.model,
    max_tokens: maxTokens,
    ...(thinking && { thinking }),
    ...(container !== undefined && { container }),
    ...(mcp_servers.length > 0 && { mcp_servers }),
    ...(system !== '' && { system }),
    ...(plan.tools.length > 0 && { tools: plan.tools }),
    ...(plan.choice && { tool_choice: plan.choice }),
    stream: true,
  }
  readings.set(plan.names, { origin, names: plan.names, texts: plan.texts })
  return {
    path: '/v1/messages',
    headers: headersOf(betas, usesMcp),
    body: `${wireJson(head).slice(0, -1)},"messages":${talk.messages}}`,
    warnings,
    names: plan.names,
    leans: id !== undefined,
    encoded: talk.encoded,
  }
}

/** The agent's instructions, then the system entries that the history begins with. */
function splitSystem(request: ModelRequest): { system: string; spoken: readonly Entry[] } {
  const texts = [request.system ?? '']
  const start = request.history.findIndex(entry => entry.role !== 'system')
  const leading = start < 0 ? request.history : request.history.slice(0, start)
  for (const entry of leading) if (entry.role === 'system') texts.push(entry.text)
  const system = texts.filter(text => text.trim() !== '').join('\n\n')
  return { system, spoken: start < 0 ? [] : start === 0 ? request.history : request.history.slice(start) }
}

/** As the target has it, but for manual thinking that the API would refuse in this very request. */
function thinkingField(
  body: JsonObject,
  maxTokens: number,
  isForbidden: () => boolean,
  warn: Warn,
): JsonObject | undefined {
  const { thinking } = body
  if (!isJsonObject(thinking)) return undefined
  if (thinking['type'] !== 'enabled') return thinking
  if (isForbidden()) {
    warn('Thinking is off for this step: the turn under way began without thinking of this model.')
    return undefined
  }
  const budget = thinking['budget_tokens']
  if (typeof budget !== 'number' || budget < maxTokens) return thinking
  if (maxTokens <= LEAST_BUDGET) {
    warn(`Thinking is off: ${maxTokens} tokens leave no room for it.`)
    return undefined
  }
  warn(`The budget for thinking was lowered to ${maxTokens - 1} tokens: an answer has at most ${maxTokens}.`)
  return { ...thinking, budget_tokens: maxTokens - 1 }
}

/** The latest container goes along while code can run in it, or waits in it. */
function runsCode(target: Target): boolean {
  return target.hosted.some(tool => tool['name'] === 'code_execution')
}

/** A server that no toolset names is refused; where the vendor's own tools are not offered, none is named. */
function usedServers(servers: Json | undefined, request: ModelRequest, target: Target, warn: Warn): Json[] {
  const named = new Set(target.hosted.map(tool => tool['mcp_server_name']))
  return (Array.isArray(servers) ? servers : []).filter(server => {
    if (isJsonObject(server) && named.has(server['name'])) return true
    if (request.hosted !== false)
      warn('A server of `mcp_servers` was left out: no `mcp_toolset` among the hosted tools names it.')
    return false
  })
}

/**
 * `betas` in the target's body is the SDK's spelling of a header. The MCP connector is in beta and brings its own, also
 * when the history only tells of what it did.
 */
function headersOf(betas: Json | undefined, usesMcp: boolean): Record<string, string> {
  const names = (Array.isArray(betas) ? betas : []).filter(name => typeof name === 'string')
  if (usesMcp && !names.some(name => name.startsWith('mcp-client-'))) names.push(MCP_BETA)
  return {
    'anthropic-version': VERSION,
    ...(names.length > 0 && { 'anthropic-beta': names.join(',') }),
  }
}
