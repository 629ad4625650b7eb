// The one runner behind every model API: it asks a protocol for the body, sends it, feeds the frames back and
// gives the answer. Retry, deadlines, abort and secrets live here once; what an API looks like is a protocol's
// business, and where it is and who pays a provider's.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../engine/ports.ts'
import { TurnwireError } from '../language/errors.ts'
import { hostedApproval } from '../language/tools.ts'
import { untilAborted } from '../lib/abort.ts'
import { isJsonObject, type JsonObject } from '../lib/json.ts'
import { costOf, type Prices } from './common/cost.ts'
import type { Prepared, Protocol, Target } from './protocol.ts'
import { attempt } from './run-attempt.ts'
import { backoffMs, secretsIn, toError } from './run-failures.ts'
import { type Address, type Agents, readAddress, sharedAgents } from './run-http.ts'

/** Contract: all of it is asked at each request, and nothing before the first, so that keys may come late and rotate. */
export type Provider = {
  readonly name: string
  /** Where the API is; a protocol's path is appended to it. */
  url(): string
  /** Auth, and what else this deployment wants. Throws a TurnwireError that says what to set. */
  headers(): Record<string, string> | Promise<Record<string, string>>
  /** Where this deployment has a protocol's path, when it is elsewhere. */
  path?(path: string): string
}

export type RunLimits = {
  /** Until the answer begins. Models that think first may need minutes. */
  firstByteMs: number
  /** Between two chunks of the answer. */
  idleMs: number
  /** Further attempts after a failure that may pass, as long as nothing was shown. */
  retries: number
  backoffMs: number
  maxBackoffMs: number
  /** A vendor that wants a longer wait is not waited for. */
  maxRetryAfterMs: number
  maxEventChars: number
  maxBodyChars: number
}

export const runLimits: RunLimits = {
  firstByteMs: 300_000,
  idleMs: 120_000,
  retries: 3,
  backoffMs: 500,
  maxBackoffMs: 30_000,
  maxRetryAfterMs: 60_000,
  maxEventChars: 32 * 1024 * 1024,
  maxBodyChars: 64 * 1024 * 1024,
}

export type ModelOptions<State> = {
  protocol: Protocol<State>
  provider: Provider
  target: Target
  /** Absent: the provider's and the model's name. */
  id?: string
  /** How many tokens a request may hold, where that is known. */
  contextTokens?: number
  limits?: Partial<RunLimits>
  prices?: Prices
  /** Absent: one pool of connections for the process, through the environment's proxy. */
  agents?: Agents
}

type Runner<State> = {
  protocol: Protocol<State>
  provider: Provider
  /** Replaced when the deployment tells of a quirk, so that it is told once. */
  target: Target
  limits: RunLimits
  agents(): Agents
  /** The last address that was asked, which is most often the next one too. */
  asked?: { base: string; path: string; address: Address }
}

/** Fields of the body that list what is to be switched on. */
const FEATURES: ReadonlySet<string> = new Set(['betas', 'include'])

const preparers = new WeakMap<Model, (request: ModelRequest) => Prepared>()

export function createModel<State>(options: ModelOptions<State>): Model {
  const { protocol, provider, target, agents, prices } = options
  const runner: Runner<State> = {
    protocol,
    provider,
    target,
    limits: { ...runLimits, ...options.limits },
    agents: () => agents ?? sharedAgents(),
  }
  const model: Model = {
    id: options.id ?? `${provider.name}/${target.model}`,
    origin: { protocol: protocol.name, family: target.family },
    ...(target.hosted.some(mayAsk) && { asksApproval: true }),
    ...(options.contextTokens !== undefined && { contextTokens: options.contextTokens }),
    async respond(request, watch, signal) {
      const answer = await respond(runner, request, watch, signal)
      const { usage } = answer
      return prices && usage ? { ...answer, usage: { ...usage, cost: costOf(usage, prices) } } : answer
    },
  }
  preparers.set(model, request => prepare(protocol, runner.target, request))
  return model
}

/** What `model` would send for this request, with no network; undefined for a model that sends nothing. */
export function preparedFor(model: Model, request: ModelRequest): Prepared | undefined {
  return preparers.get(model)?.(request)
}

async function respond<State>(
  runner: Runner<State>,
  request: ModelRequest,
  watch: (delta: ModelDelta) => void,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  signal.throwIfAborted()
  const { protocol, provider, limits } = runner
  const place = provider.name
  let { target } = runner
  let prepared = prepare(protocol, target, request)
  let timeouts = 0
  for (let tried = 0; ; tried++) {
    const given = provider.headers()
    // Whoever gets keys from elsewhere may take long, and does not hear that nobody waits any more.
    const auth = given instanceof Promise ? await untilAborted(given, signal) : given
    const agents = runner.agents()
    const address = addressOf(runner, prepared.path)
    const exchange = { protocol, prepared, place, address, auth, limits, agents, watch, signal }
    const result = await attempt(exchange)
    signal.throwIfAborted()
    if ('answer' in result) return withWarnings(result.answer, prepared)
    const { failure, shown } = result
    // Some vendors answer with an error of their own where something that they kept is gone.
    const inVain = failure.code === 'model_failed' && tried >= limits.retries
    if (prepared.leans === true && (failure.forgotten === true || inVain) && !shown) {
      target = { ...target, forgotten: true }
      prepared = prepare(protocol, target, request)
      continue
    }
    if (failure.quirk !== undefined && !target.quirks.has(failure.quirk) && !shown) {
      const quirks = new Set([...target.quirks, failure.quirk])
      runner.target = { ...runner.target, quirks }
      target = { ...target, quirks }
      prepared = prepare(protocol, target, request)
      continue
    }
    if (failure.code === 'model_timeout') timeouts++
    const waitMs =
      failure.retryAfterMs ?? backoffMs(tried, limits.backoffMs, limits.maxBackoffMs, Math.random())
    // A second silence is answered no better by a third question.
    const again = failure.retry && !shown && tried < limits.retries && timeouts < 2
    if (!again || waitMs > limits.maxRetryAfterMs) throw toError(failure, place, secretsIn(auth))
    await sleep(waitMs, undefined, { signal })
  }
}

/** A hosted MCP server asks before each call, unless it was declared not to. */
function mayAsk(tool: JsonObject): boolean {
  return tool['type'] === 'mcp' && tool['require_approval'] !== 'never'
}

const withoutApproval = new WeakMap<ModelRequest['tools'], ModelRequest['tools']>()

/** The vendor's own questions are no tool that a model could choose. The same list gives the same list: codecs remember by it. */
function declared(tools: ModelRequest['tools']): ModelRequest['tools'] {
  let rest = withoutApproval.get(tools)
  if (!rest) {
    rest = tools.some(tool => tool.name === hostedApproval)
      ? tools.filter(tool => tool.name !== hostedApproval)
      : tools
    withoutApproval.set(tools, rest)
  }
  return rest
}

/** The operator's cap holds whatever the caller asks for. */
function withinCap(request: ModelRequest, { mostTokens }: Target): ModelRequest {
  if (mostTokens === undefined || request.maxTokens === undefined || request.maxTokens <= mostTokens)
    return request
  return { ...request, maxTokens: mostTokens }
}

/** Fields that a caller sent for this very protocol come over the operator's; for another they mean nothing. */
function prepare<State>(protocol: Protocol<State>, deployed: Target, asked: ModelRequest): Prepared {
  const request = withinCap({ ...asked, tools: declared(asked.tools) }, deployed)
  const target = request.hosted === false ? { ...deployed, hosted: [] } : deployed
  const { body } = request
  if (body === undefined) return protocol.prepare(request, target)
  const own = Object.hasOwn(body, protocol.name) ? body[protocol.name] : undefined
  const prepared = protocol.prepare(request, own ? { ...target, body: overlaid(target.body, own) } : target)
  for (const [name, fields] of Object.entries(body)) {
    const keys = Object.keys(fields)
    if (name === protocol.name || keys.length === 0) continue
    prepared.warnings.push(
      `Fields for ${name} were left out, as the model speaks ${protocol.name}: ${keys.join(', ')}.`,
    )
  }
  return prepared
}

/**
 * An object that names its `type` is one choice of several and is replaced whole; any other is joined by member. Lists
 * of features are joined too: what the operator has declared may need its own.
 */
function overlaid(under: JsonObject, over: JsonObject): JsonObject {
  const joined: JsonObject = { ...under }
  for (const [key, value] of Object.entries(over)) {
    const old = under[key]
    const joins = isJsonObject(old) && isJsonObject(value) && !('type' in old) && !('type' in value)
    if (FEATURES.has(key) && Array.isArray(old) && Array.isArray(value))
      joined[key] = [...old, ...value.filter(name => !old.includes(name))]
    else joined[key] = joins ? { ...old, ...value } : value
  }
  return joined
}

function addressOf<State>(runner: Runner<State>, path: string): Address {
  const { provider, asked } = runner
  const base = provider.url()
  const own = provider.path?.(path) ?? path
  if (asked?.base === base && asked.path === own) return asked.address
  const address = readAddress(base.replace(/\/+$/, '') + own)
  if (address === undefined)
    throw new TurnwireError(
      'model_rejected',
      `The base URL of ${provider.name} is not a web address. Write it like https://host/v1.`,
    )
  runner.asked = { base, path: own, address }
  return address
}

/** Asking a vendor in a form that it takes may lose something: whoever reads the answer is to know. */
function withWarnings(answer: ModelAnswer, prepared: Prepared): ModelAnswer {
  const warnings = [...new Set([...prepared.warnings, ...(answer.warnings ?? [])])]
  return warnings.length === 0 ? answer : { ...answer, warnings }
}
