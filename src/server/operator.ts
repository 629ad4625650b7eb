// The server's part of the operator API, besides the engine: keys, the cookie, the state of the system, and requests in
// the vendors' own forms.
import { join } from 'node:path'
import { addKey, type Keys, removeKey } from '../callers/keys.ts'
import type { OidcSignIn } from '../callers/oidc/sign-in.ts'
import { ownVersion } from '../data/version.ts'
import type { JudgedCall, ModelRequest } from '../engine/index.ts'
import { publicError, TurnwireError } from '../language/errors.ts'
import type { Json } from '../lib/json/index.ts'
import { isRunning, readStatus } from '../relay/owner/status.ts'
import type { Runtime } from '../runtime.ts'
import { endpointSecret, WebhookDesk } from '../webhooks/index.ts'
import type { JudgeAnswer, OperatorBackend, OperatorSystem, WebhookBackend } from '../wires/operator/index.ts'
import type { ConsoleCookies } from './console-cookie.ts'
import { oidcBackend } from './people.ts'

export function operatorBackend(
  runtime: Runtime,
  keys: Keys,
  cookies: ConsoleCookies,
  people?: OidcSignIn,
): OperatorBackend {
  const startedAt = Date.now()
  const folder = (): string => {
    if (runtime.folder !== undefined) return runtime.folder
    throw new TurnwireError(
      'bad_request',
      'This server keeps nothing on disk. Put keys into TURNWIRE_KEYS or server.keys.',
    )
  }
  return {
    version: ownVersion(),
    isOpen: () => keys.open,
    features: listFeatures(runtime),
    signIn: key => cookies.signIn(key),
    oidc: people && oidcBackend(people, cookies),
    prepare: vendorRequest,
    system: () => systemStatus(runtime, startedAt),
    rulesFile: () => runtime.rulesFile,
    judge: async (engine, call) => encodeJudged(await runtime.judge(engine, call)),
    tryChange: (session, log, change, signal) => runtime.tryChange(session, log, change, signal),
    evalCase: async (agent, name, events) => {
      const { caseFromLog, evalFile } = await import('../evals/from-session.ts')
      return evalFile(agent, [caseFromLog(name, events)])
    },
    keys: {
      list: () => keys.list(),
      add: (name, operator) => addKey(folder(), name, operator),
      remove: name => removeKey(folder(), name),
    },
    webhooks: webhookBackend(runtime),
    address: () => runtime.address,
  }
}

function webhookBackend(runtime: Runtime): WebhookBackend | undefined {
  const { config, records } = runtime
  const { webhooks = {} } = config
  if (!records) return undefined
  const desk = new WebhookDesk(webhooks, records, Date.now, () => runtime.wakeWebhooks())
  return {
    list: () => desk.list(),
    deliveries: (endpoint, page) => desk.deliveries(endpoint, page),
    resend: (endpoint, id) => desk.resend(endpoint, id),
    enable: endpoint => desk.enable(endpoint),
    secret: endpoint => endpointSecret(webhooks, endpoint, text => runtime.vault.sign(text)),
  }
}

function encodeJudged(judged: JudgedCall): JudgeAnswer {
  if (judged.is === 'judged') {
    const { verdict: given, flow } = judged
    const { verdict, rule, policy, shadow } = given
    const reason = 'reason' in given ? given.reason : undefined
    return {
      verdict,
      rule,
      ...(reason !== undefined && { reason }),
      ...(policy !== undefined && { policy }),
      ...(shadow && { shadow }),
      ...(flow && { flow: flow.facts }),
    }
  }
  return { problem: judged.is === 'invalid' ? judged.reason : problems[judged.is] }
}

const problems: Readonly<Record<Exclude<JudgedCall['is'], 'judged' | 'invalid'>, string>> = {
  'no-agent': 'There is no such agent.',
  'no-tool': 'The agent does not offer this tool.',
  client: 'The application runs this tool: no policy stands between.',
  sealed: 'Its arguments are sealed.',
}

function listFeatures({ config, accounts }: Runtime): OperatorBackend['features'] {
  return [
    ...(config.payments ? ['payments' as const] : []),
    ...(config.relay ? ['relay' as const] : []),
    ...(accounts.connections ? ['connections' as const] : []),
  ]
}

function systemStatus(runtime: Runtime, startedAt: number): OperatorSystem {
  const failure = runtime.storeFailure()
  const error = failure && publicError(new TurnwireError(failure.code, failure.message)).message
  return {
    version: ownVersion(),
    node: process.versions.node,
    startedAt,
    memory: process.memoryUsage.rss(),
    store: error === undefined ? { ok: true } : { ok: false, error },
    models: runtime.modelRecords(),
    ...describeNodes(runtime),
    ...describeAttached(runtime),
  }
}

/** An owner's machine that is attached to a relay keeps its counts in the data folder. */
function describeAttached({ folder }: Runtime): Pick<OperatorSystem, 'attached'> {
  const status = folder === undefined ? undefined : readStatus(join(folder, 'attach', 'status.json'))
  if (!status) return {}
  const { pid: _, tokens: __, ...shown } = status
  return { attached: { ...shown, state: isRunning(status) ? status.state : 'stopped' } }
}

function describeNodes(runtime: Runtime): Pick<OperatorSystem, 'nodes' | 'nodesSeenAt'> {
  const known = runtime.nodes()
  if (!known) return {}
  const problem = runtime.nodeFailure()?.message
  const nodes = known.nodes.map(({ id, address, version, leftMs }) => ({
    id,
    ...(address !== undefined && { address }),
    version,
    leftMs: Math.round(leftMs),
    ...(id === known.self && { self: true as const, ...(problem !== undefined && { problem }) }),
  }))
  return { nodes, nodesSeenAt: Math.round(Date.now() - known.ageMs) }
}

/** One model of each protocol, to show the request that it would send. Nothing is sent. */
async function vendorModels() {
  const { anthropic, gemini, geminiInteractions, openai, openaiChat } = await import('../models/index.ts')
  return {
    anthropic: anthropic({ model: 'claude-sonnet-4-6' }),
    'openai-responses': openai({ model: 'gpt-5.2' }),
    'openai-chat': openaiChat({ model: 'gpt-5.2' }),
    gemini: gemini({ model: 'gemini-3-pro' }),
    'gemini-interactions': geminiInteractions({ model: 'gemini-3-pro' }),
  }
}

async function vendorRequest(
  request: ModelRequest,
  protocol: string,
): ReturnType<OperatorBackend['prepare']> {
  const models = await vendorModels()
  const vendor = Object.keys(models).find((name): name is keyof typeof models => name === protocol)
  if (vendor === undefined)
    throw new TurnwireError('bad_request', `"protocol" must be one of: ${Object.keys(models).join(', ')}.`)
  const { preparedFor } = await import('../models/index.ts')
  const prepared = preparedFor(models[vendor], request)
  // Each of these models sends over HTTP, so there is something to see.
  if (!prepared) throw new TurnwireError('internal', 'A provider sends nothing.')
  const body = JSON.parse(prepared.body) as Json // A body is JSON text.
  const { checkHistory } = await import('../doctor/index.ts')
  const findings = checkHistory(vendor, body).map(({ rule, message, why }) => ({ rule, message, why }))
  return { body, warnings: prepared.warnings, findings }
}
