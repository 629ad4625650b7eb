// The one runner behind every model API: it asks a protocol for the body, sends it, feeds the frames back and gives the
// answer. Retries, deadlines, abort and secrets are here. A protocol knows what an API looks like; a
// provider knows where it is and who pays.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { hostedApproval } from '../language/tools.ts'
import { untilAborted } from '../lib/async/abort.ts'
import { sha256 } from '../lib/json/hash.ts'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'
import { sumUsage } from './common/answer.ts'
import { calculateCost, type Prices } from './common/cost.ts'
import { hasGrammars } from './common/prepare.ts'
import { runsPrograms } from './common/programs.ts'
import { type Restorer, restorerFor } from './common/restore-values.ts'
import { SessionCache } from './common/session-cache.ts'
import { judgeGrammars } from './common/text-tools.ts'
import type { ModelFailure, ModelTarget, Prepared, Protocol } from './protocol.ts'
import { attempt } from './run-attempt.ts'
import { backoffMs, secretsIn, toError } from './run-failures.ts'
import { type Address, type Agents, readAddress, sharedAgents } from './run-http.ts'
import { FormScreen, repairRequest } from './run-screen.ts'

/** Contract: all of it is asked for at each request and nothing earlier, so that keys may come late and rotate. */
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
  /** Further attempts after a temporary failure, unless the vendor has made a call outside its own servers (MCP). */
  retries: number
  backoffMs: number
  maxBackoffMs: number
  /** If the vendor asks for a longer wait, the request fails at once. */
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

/** Give up after so many attempts that timed out. */
const MAX_TIMEOUTS = 2

export type ModelOptions<State, Reading> = {
  protocol: Protocol<State, Reading>
  provider: Provider
  target: ModelTarget
  /** Absent: the provider's and the model's name. */
  id?: string
  /** How many tokens a request may hold, where that is known. */
  contextTokens?: number
  limits?: Partial<RunLimits>
  prices?: Prices
  /** Absent: one pool of connections for the process, through the environment's proxy. */
  agents?: Agents
  /** Milliseconds since 1970. Default: the clock of the machine. */
  now?: () => number
}

/** A model behind HTTP. `prepare` gives the request that it would send, with no network. `prices`: those of its answers. */
export type HttpModel = Model & { prepare(request: ModelRequest, at?: number): Prepared; prices?: Prices }

type Runner<State, Reading> = {
  protocol: Protocol<State, Reading>
  provider: Provider
  /** Replaced when a refusal shows an undeclared quirk, so that later requests have it. */
  target: ModelTarget
  limits: RunLimits
  agents(): Agents
  now: () => number
  /** The last address, which is mostly the next one too. */
  resolved?: { base: string; path: string; address: Address }
}

export function createModel<State, Reading>(options: ModelOptions<State, Reading>): HttpModel {
  const { protocol, provider, target, agents, prices } = options
  const runner: Runner<State, Reading> = {
    protocol,
    provider,
    target,
    limits: { ...runLimits, ...options.limits },
    agents: () => agents ?? sharedAgents(),
    now: options.now ?? Date.now,
  }
  return {
    id: options.id ?? `${provider.name}/${target.model}`,
    origin: { protocol: protocol.name, family: target.family },
    ...(target.hosted.some(mayAskApproval) && { asksApproval: true }),
    ...(target.hosted.some(runsPrograms) && { programs: true }),
    ...(protocol.mostTools !== undefined && { mostTools: protocol.mostTools }),
    ...(protocol.images && { images: protocol.images }),
    ...(options.contextTokens !== undefined && { contextTokens: options.contextTokens }),
    ...(prices && { prices }),
    get searchesTools() {
      return protocol.searchesTools?.(runner.target) ?? false
    },
    prepare: (request, at) => prepareRequest(runner, runner.target, request, at),
    async respond(request, watch, signal) {
      const answer = await respond(runner, request, watch, signal)
      const { usage } = answer
      return prices && usage ? { ...answer, usage: { ...usage, cost: calculateCost(usage, prices) } } : answer
    },
  }
}

/** The request that `model` would send, made with no network; undefined for a model that sends nothing. `at`: as of this time. */
export function preparedFor(
  model: Model | HttpModel,
  request: ModelRequest,
  at?: number,
): Prepared | undefined {
  return 'prepare' in model ? model.prepare(request, at) : undefined
}

/** How often an answer that its caller cannot use is asked for again. */
const MAX_REPAIRS = 2

/** The answer as the caller demands it: one that cannot be used is asked for again, with what was wrong with it. */
async function respond<State, Reading>(
  runner: Runner<State, Reading>,
  request: ModelRequest,
  watch: (delta: ModelDelta) => void,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const unused: { answer: ModelAnswer; problem: string }[] = []
  for (let asked = request; ; ) {
    let screen: FormScreen | undefined
    const answer = await exchange(runner, asked, signal, ({ unchecked }) => {
      screen = unchecked && new FormScreen(request, unchecked, watch)
      return screen ? delta => screen?.watch(delta) : watch
    })
    const judged = screen ? await screen.judge(answer) : { answer }
    if ('answer' in judged) return unused.length === 0 ? judged.answer : withRepairs(judged.answer, unused)
    const { problem } = judged
    unused.push({ answer, problem })
    if (unused.length > MAX_REPAIRS)
      throw new TurnwireError('model_failed', `The model did not answer as it was asked to. ${problem}`)
    asked = repairRequest(request, answer, problem)
  }
}

function withRepairs(
  answer: ModelAnswer,
  unused: readonly { answer: ModelAnswer; problem: string }[],
): ModelAnswer {
  const usage = sumUsage([...unused.map(each => each.answer.usage), answer.usage])
  const again = unused.map(({ problem }) => `The model was asked again. ${problem}`)
  return { ...answer, ...(usage && { usage }), warnings: [...(answer.warnings ?? []), ...again] }
}

/** One answer of the vendor, with further attempts after failures that may pass. `watcherOf` is asked before the first. */
async function exchange<State, Reading>(
  runner: Runner<State, Reading>,
  request: ModelRequest,
  signal: AbortSignal,
  watcherOf: (prepared: Prepared<Reading>) => (delta: ModelDelta) => void,
): Promise<ModelAnswer> {
  signal.throwIfAborted()
  const { protocol, provider, limits } = runner
  if (hasGrammars(request.tools)) await untilAborted(judgeGrammars(request.tools, request.session), signal)
  let { target } = runner
  let prepared = prepareRequest(runner, target, request)
  let restorer = makeRestorer(prepared, watcherOf(prepared))
  let timeouts = 0
  const mostTimeouts = request.hasNext ? 1 : MAX_TIMEOUTS
  for (let tried = 0; ; tried++) {
    const given = provider.headers()
    // A provider that fetches its keys is not given the signal.
    const auth = given instanceof Promise ? await untilAborted(given, signal) : given
    const address = addressFor(runner, prepared.path)
    const sent = { protocol, prepared, provider: provider.name, address, auth, limits, trace: request.trace }
    const [result, digest] = await Promise.all([
      attempt({ ...sent, agents: runner.agents(), watch: restorer.watch, signal }),
      // It is told of a session's step.
      request.memory === undefined ? undefined : digestOnceSent(prepared.body),
    ])
    signal.throwIfAborted()
    if ('answer' in result) return withRequest(restorer.restore(result.answer), prepared, digest)
    const { failure, shown, ran } = result
    const adapted = shown ? undefined : adaptedTarget(runner, target, prepared, failure, tried)
    const { code, message } = toError(failure, provider.name, secretsIn(auth))
    if (adapted !== undefined) {
      restorer.watch({ type: 'retry', code, message })
      target = adapted
      prepared = prepareRequest(runner, target, request)
      restorer = makeRestorer(prepared, watcherOf(prepared))
      continue
    }
    if (failure.code === 'model_timeout') timeouts++
    const waitMs =
      failure.retryAfterMs ?? backoffMs(tried, limits.backoffMs, limits.maxBackoffMs, Math.random())
    const mayRetry = failure.retry && !ran && tried < limits.retries && timeouts < mostTimeouts
    if (!mayRetry || waitMs > limits.maxRetryAfterMs)
      throw toError(failure, provider.name, secretsIn(auth), ran)
    restorer.watch({ type: 'retry', code, message })
    await sleep(waitMs, undefined, { signal })
    // Not before the wait: until now the shown deltas are the only part of the answer.
    if (shown) restorer.watch({ type: 'reset' })
  }
}

function makeRestorer({ restores }: Prepared, watch: (delta: ModelDelta) => void): Restorer {
  return restores ? restorerFor(restores, watch) : { watch, restore: answer => answer }
}

/** The target for another attempt at once, if the failure shows that the request has to be made otherwise. */
function adaptedTarget<State, Reading>(
  runner: Runner<State, Reading>,
  target: ModelTarget,
  prepared: Prepared,
  { code, forgotten, quirk }: ModelFailure,
  tried: number,
): ModelTarget | undefined {
  // Some vendors answer with a server error when something that they stored is gone.
  const isLost = forgotten === true || (code === 'model_failed' && tried >= runner.limits.retries)
  if (prepared.usesStored && isLost) return { ...target, forgotten: true }
  if (quirk === undefined || target.quirks.has(quirk)) return undefined
  const quirks = new Set([...target.quirks, quirk])
  runner.target = { ...runner.target, quirks }
  return { ...target, quirks }
}

/** A hosted MCP server asks before each call, unless it was declared not to. */
function mayAskApproval(tool: JsonObject): boolean {
  return tool['type'] === 'mcp' && tool['require_approval'] !== 'never'
}

// ---- the request -------------------------------------------------------------------------------------------

/** The target stays the same object unless the caller changes it, so that protocols can keep what they derive from it. */
function prepareRequest<State, Reading>(
  { protocol, now }: Runner<State, Reading>,
  deployed: ModelTarget,
  asked: ModelRequest,
  at = now(),
): Prepared<Reading> {
  const { body, hosted, clientHosted, maxTokens = 0 } = asked
  const { mostTokens } = deployed
  const tools = withoutApproval(asked.tools)
  // The operator's cap holds whatever the caller asks for.
  const isOver = mostTokens !== undefined && maxTokens > mostTokens
  const request =
    tools === asked.tools && !isOver ? asked : { ...asked, tools, ...(isOver && { maxTokens: mostTokens }) }
  const leavesHosted = hosted === false && deployed.hosted.length > 0
  const isChanged = leavesHosted || body !== undefined || clientHosted !== undefined
  const target = isChanged ? changedTarget(protocol.name, deployed, asked) : deployed
  const prepared = protocol.prepare(request, target, SessionCache.of(asked.memory), at)
  if (body) warnOfOthers(body, protocol.name, prepared.warnings)
  return prepared
}

/** Fields that a caller sent for this protocol come over the operator's. Fields for another protocol are left out. */
function changedTarget(
  protocol: string,
  deployed: ModelTarget,
  { body = {}, hosted, clientHosted = {} }: ModelRequest,
): ModelTarget {
  const declared = Object.hasOwn(clientHosted, protocol) ? clientHosted[protocol] : undefined
  const own = Object.hasOwn(body, protocol) ? body[protocol] : undefined
  return {
    ...deployed,
    hosted: [...(hosted === false ? [] : deployed.hosted), ...(declared ?? [])],
    ...(own && { body: mergeFields(deployed.body, own) }),
  }
}

function warnOfOthers(body: NonNullable<ModelRequest['body']>, protocol: string, warnings: string[]): void {
  for (const [name, fields] of Object.entries(body)) {
    const keys = Object.keys(fields)
    if (name === protocol || keys.length === 0) continue
    warnings.push(`Fields for ${name} were left out, as the model speaks ${protocol}: ${keys.join(', ')}.`)
  }
}

/** The vendor's question about a hosted tool is no tool that a model can choose. */
function withoutApproval(tools: ModelRequest['tools']): ModelRequest['tools'] {
  for (const { name } of tools)
    if (name === hostedApproval) return tools.filter(tool => tool.name !== hostedApproval)
  return tools
}

/** Fields of the body that list features to switch on. */
const FEATURE_LISTS: ReadonlySet<string> = new Set(['betas', 'include'])

/**
 * Objects are merged by member, except that an object with a `type` is one choice of several and is replaced whole. Lists
 * of features are merged too: the operator's tools may need theirs.
 */
function mergeFields(under: JsonObject, over: JsonObject): JsonObject {
  const merged: JsonObject = { ...under }
  for (const [key, value] of Object.entries(over)) {
    const old = under[key]
    const isMerged = isJsonObject(old) && isJsonObject(value) && !('type' in old) && !('type' in value)
    if (FEATURE_LISTS.has(key) && Array.isArray(old) && Array.isArray(value))
      merged[key] = [...old, ...value.filter(name => !old.includes(name))]
    else merged[key] = isMerged ? { ...old, ...value } : value
  }
  return merged
}

function addressFor<State, Reading>(runner: Runner<State, Reading>, path: string): Address {
  const { provider, resolved } = runner
  const base = provider.url()
  const own = provider.path?.(path) ?? path
  if (resolved?.base === base && resolved.path === own) return resolved.address
  const address = readAddress(base.replace(/\/+$/, '') + own)
  if (address === undefined)
    throw new TurnwireError(
      'model_rejected',
      `The base URL of ${provider.name} is not a web address. Write it like https://host/v1.`,
    )
  runner.resolved = { base, path: own, address }
  return address
}

/** Of a body that is sent in this turn of the event loop. A long one takes a millisecond, in which the vendor works already. */
function digestOnceSent(body: string): Promise<string> {
  return new Promise(resolve => {
    setImmediate(() => resolve(sha256(body)))
  })
}

/** What its reader should know of the request: what was adapted, and the digest of its body. */
function withRequest(answer: ModelAnswer, prepared: Prepared, digest: string | undefined): ModelAnswer {
  if (digest !== undefined) answer.sent = digest
  const warnings = [...new Set([...prepared.warnings, ...(answer.warnings ?? [])])]
  return warnings.length === 0 ? answer : { ...answer, warnings }
}
