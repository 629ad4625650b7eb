// The suite: finds out which wires a server speaks, runs the checks of each, and counts what was held, broken and not tried.
import { Broken, type Check, type Finding, NotTried, text } from './check.ts'
import { type RpcPlace, RpcTrial } from './rpc.ts'
import { type Target, Trial } from './trial.ts'
import { aapChecks } from './wires/aap.ts'
import { acpChecks } from './wires/acp.ts'
import { aguiChecks } from './wires/agui.ts'
import { chatChecks } from './wires/chat.ts'
import { deltakitChecks } from './wires/deltakit.ts'
import { geminiChecks } from './wires/gemini.ts'
import { McpTrial, mcpChecks } from './wires/mcp.ts'
import { messagesChecks } from './wires/messages.ts'
import { responsesChecks } from './wires/responses.ts'
import { uiChecks } from './wires/ui.ts'

export type ConformOptions = {
  /** An address of HTTP or of a WebSocket, or a command with its arguments. */
  at: string | readonly string[]
  key?: string
  /** The agent or model that is asked for. Absent: the first that the server names. */
  agent?: string
  /** Absent: every wire that the server speaks. */
  wire?: WireName
  /** Ids of clauses, or their beginnings, such as AAP-CALL. */
  only?: readonly string[]
  /** For one check. Default 30,000. */
  timeoutMs?: number
  onProgress?: (done: number, total: number) => void
}

export type WireReport = { wire: WireName; title: string; at: string; findings: Finding[] }
export type ConformReport = {
  wires: WireReport[]
  /** The wires that the server does not speak, as far as could be seen. */
  notServed: WireName[]
  held: number
  broken: number
  notTried: number
  /** Nothing is broken, and something was tried. */
  ok: boolean
}

type Probe = {
  readonly sent: string
  readonly got: string
  failure(error: unknown): Broken
  close(): Promise<void>
}

/** A check whose connection is made for it. */
type BoundCheck = Pick<Check<never>, 'id' | 'clause'> & { try: () => Promise<Finding> }

type Wire = {
  title: string
  /** Where it is served under the address of a server. */
  place: (url: URL, agent: string) => string
  /** Seen in the answer to a request that any server of this wire answers. Absent: it must be named. */
  seen?: (at: Trial, agent: string) => Promise<boolean>
  /** Whether it can be spoken over the pipes of a command. */
  pipes?: true
  checks: (target: Target, place: RpcPlace) => BoundCheck[]
}

const isThere = (status: number): boolean => ![404, 405, 501].includes(status)
const answers = (path: string) => async (at: Trial) => isThere((await at.ask(path, { body: '{}' })).status)

/** Without a version at its end, which the checks add. */
const api = (url: URL): string => whole(url).replace(/\/(v1|v1beta)$/, '')
/** The address itself, unless it is that of a whole server. */
const under = (path: (agent: string) => string) => (url: URL, agent: string) =>
  url.pathname === '/' ? `${whole(url)}${path(agent)}` : whole(url)

function whole(url: URL): string {
  return url.href.replace(/\/+$/, '')
}

const wires = {
  aap: {
    title: 'Agent Application Protocol 3',
    place: whole,
    seen: async at => (await at.ask('/meta')).status === 200,
    checks: overHttp(aapChecks),
  },
  responses: {
    title: 'OpenAI Responses',
    place: api,
    seen: answers('/v1/responses'),
    checks: overHttp(responsesChecks),
  },
  chat: {
    title: 'OpenAI Chat Completions',
    place: api,
    seen: answers('/v1/chat/completions'),
    checks: overHttp(chatChecks),
  },
  messages: {
    title: 'Anthropic Messages',
    place: api,
    seen: answers('/v1/messages'),
    checks: overHttp(messagesChecks),
  },
  gemini: {
    title: 'Gemini generateContent',
    place: api,
    seen: (at, agent) => answers(`/v1beta/models/${encodeURIComponent(agent)}:generateContent`)(at),
    checks: overHttp(geminiChecks),
  },
  deltakit: {
    title: 'DeltaKit',
    place: url => whole(url).replace(/\/api(\/chat)?$/, ''),
    seen: answers('/api/chat'),
    checks: overHttp(deltakitChecks),
  },
  agui: {
    title: 'AG-UI',
    place: under(agent => `/agui/${encodeURIComponent(agent)}`),
    seen: answers(''),
    checks: overHttp(aguiChecks),
  },
  ui: {
    title: 'AI SDK UI',
    place: under(agent => `/ui/${encodeURIComponent(agent)}`),
    seen: answers(''),
    checks: overHttp(uiChecks),
  },
  mcp: {
    title: 'Model Context Protocol',
    place: under(() => '/mcp'),
    seen: answers(''),
    pipes: true,
    checks: (target, place) =>
      bind(
        mcpChecks,
        () => new McpTrial('command' in place ? new RpcTrial(target, place) : new Trial(target)),
      ),
  },
  acp: {
    title: 'Agent Client Protocol 1',
    place: (url, agent) =>
      under(() => `/acp/${encodeURIComponent(agent)}`)(url, agent).replace(/^http/, 'ws'),
    pipes: true,
    checks: (target, place) => bind(acpChecks, () => new RpcTrial(target, place)),
  },
} satisfies Record<string, Wire>

export type WireName = keyof typeof wires
export const conformWires = Object.keys(wires) as WireName[] // The keys of the table.

function wireNamed(name: WireName): Wire {
  return wires[name]
}

function overHttp(checks: readonly Check<Trial>[]): Wire['checks'] {
  return target => bind(checks, () => new Trial(target))
}

function bind<At extends Probe>(checks: readonly Check<At>[], connect: () => At): BoundCheck[] {
  return checks.map(check => ({ id: check.id, clause: check.clause, try: () => judge(check, connect()) }))
}

async function judge<At extends Probe>({ id, clause, run }: Check<At>, at: At): Promise<Finding> {
  try {
    await run(at)
    return { id, clause, verdict: 'held' }
  } catch (error) {
    if (error instanceof NotTried) return { id, clause, verdict: 'not tried', reason: error.message }
    const { message: expected, got } = error instanceof Broken ? error : at.failure(error)
    return { id, clause, verdict: 'broken', sent: at.sent, expected, got: got ?? at.got }
  } finally {
    await at.close()
  }
}

/** Every clause of a wire that can be tried. */
export function clausesOfWire(name: WireName): { id: string; clause: string }[] {
  const target = { url: '', timeoutMs: 1 }
  return wireNamed(name)
    .checks(target, { address: '' })
    .map(({ id, clause }) => ({ id, clause }))
}

export async function runConform(options: ConformOptions): Promise<ConformReport> {
  const { found, notServed } = await findWires(options)
  const chosen = found.map(each => ({
    ...each,
    checks: each.checks.filter(({ id }) => isChosen(id, options.only)),
  }))
  const total = chosen.reduce((sum, { checks }) => sum + checks.length, 0)
  const reports: WireReport[] = []
  let done = 0
  for (const { wire, at, checks } of chosen) {
    const findings: Finding[] = []
    for (const check of checks) {
      findings.push(await check.try())
      done += 1
      options.onProgress?.(done, total)
    }
    if (findings.length > 0) reports.push({ wire, title: wireNamed(wire).title, at, findings })
  }
  return addUp(reports, notServed)
}

function isChosen(id: string, only: readonly string[] | undefined): boolean {
  return only === undefined || only.some(start => id === start || id.startsWith(`${start}-`))
}

function addUp(reports: WireReport[], notServed: WireName[]): ConformReport {
  const count = (verdict: Finding['verdict']): number =>
    reports.flatMap(({ findings }) => findings).filter(finding => finding.verdict === verdict).length
  const [held, broken, notTried] = [count('held'), count('broken'), count('not tried')]
  return { wires: reports, notServed, held, broken, notTried, ok: broken === 0 && held > 0 }
}

type FoundWire = { wire: WireName; at: string; checks: BoundCheck[] }

async function findWires(options: ConformOptions): Promise<{ found: FoundWire[]; notServed: WireName[] }> {
  const { at, wire, key, agent, timeoutMs = 30_000 } = options
  const target: Target = {
    url: '',
    timeoutMs,
    ...(key !== undefined && { key }),
    ...(agent !== undefined && { agent }),
  }
  if (typeof at !== 'string') {
    const named = wire ?? 'acp'
    return {
      found: [{ wire: named, at: at.join(' '), checks: wireNamed(named).checks(target, { command: at }) }],
      notServed: [],
    }
  }
  const url = new URL(at)
  url.protocol = url.protocol.replace(/^ws/, 'http')
  const name = agent ?? (await nameAgent({ ...target, url: api(url) })) ?? 'conform'
  const found: FoundWire[] = []
  const notServed: WireName[] = []
  for (const each of wire === undefined ? conformWires : [wire]) {
    const place = wireNamed(each).place(url, name)
    const there = { ...target, url: place }
    if (wire === undefined && !(await isServed(each, there, name))) notServed.push(each)
    else found.push({ wire: each, at: place, checks: wireNamed(each).checks(there, { address: place }) })
  }
  return { found, notServed }
}

/** The first agent of a server that tells. */
async function nameAgent(target: Target): Promise<string | undefined> {
  const answer = await new Trial(target).ask('/v1/models').catch(() => undefined)
  return text(answer?.json, 'data', 0, 'id') || undefined
}

async function isServed(wire: WireName, target: Target, agent: string): Promise<boolean> {
  const { seen } = wireNamed(wire)
  if (wire === 'acp') return canConnect(target)
  return seen?.(new Trial(target), agent).catch(() => false) ?? false
}

async function canConnect(target: Target): Promise<boolean> {
  const at = new RpcTrial(target, { address: target.url })
  try {
    await at.notify('no/such/notification', {})
    return true
  } catch {
    return false
  } finally {
    await at.close()
  }
}
