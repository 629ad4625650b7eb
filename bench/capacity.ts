// How many nodes, database servers, connections and bytes a load needs, reckoned from measured unit costs. Prints the
// tables of docs/operations/capacity.md; `--write` puts them into that page, and a test compares the two.
//
//   npm run capacity -- --write
//
// `--from <file>` first takes the unit costs from what `BENCH_OUT=<file> npm run bench -- unit-costs node-held nodes-three`
// has measured.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Result } from './harness.ts'
import given from './unit-costs.json' with { type: 'json' }

/** Measured: see `npm run bench -- unit-costs node-held nodes`. */
export type UnitCosts = {
  /** One message, one call, two answers of the model. Microseconds of CPU. */
  turnNodeCpu: number
  turnDatabaseCpu: number
  /** Rows of sessions that change, and commits if 64 sessions work at once, or one alone. */
  turnAppends: number
  turnCommitsShared: number
  turnCommitsAlone: number
  turnWalBytes: number
  turnBytes: number
  sessionNodeCpu: number
  sessionDatabaseCpu: number
  sessionBytes: number
  /** A person's answer to a question, beside what the turn costs anyway. */
  answerAppends: number
  /** What a request that arrives at another node than its session's costs more: times the CPU of a turn. */
  hopFactor: number
  streamKiB: number
  /** Microseconds of CPU in a second. */
  streamCpu: number
  turnAtWorkKiB: number
  nodeKiB: number
  nodeConnections: number
  nodeCommits: number
  /** Held by one node in one trial. */
  heldStreams: number
  heldTurns: number
}

/** What is assumed about those who use it. */
export type Load = {
  sessionsPerDay: number
  turnsPerSession: number
  /** The busiest second against the average one. */
  peak: number
  /** How long a turn takes: nearly all of it is the model's time. */
  turnSeconds: number
  /** How long someone watches a session. */
  streamSeconds: number
  /** The part of the turns that wait for a person, and for how long. */
  asks: number
  askSeconds: number
  /** The part of the requests that arrive at another node than their session's: all but one of the nodes. */
  keptDays: number
}

/** What is assumed about the machines: none of it was measured here. */
export type Machines = {
  /** The part of a core, or of a database server, that may be used at the peak. */
  use: number
  nodeGiB: number
  databaseCores: number
  databaseTiB: number
  databaseConnections: number
  databaseWalMiB: number
}

export type Plan = {
  turnsPerSecond: number
  turnsAtWork: number
  streams: number
  waiting: number
  nodesByCpu: number
  nodesByStreams: number
  nodesByTurns: number
  nodes: number
  nodesBecause: string
  memoryGiB: number
  links: number
  databaseCores: number
  appendsPerSecond: number
  walMiB: number
  keptTiB: number
  rowsKept: number
  connections: number
  shardsByCpu: number
  shardsByWal: number
  shardsByBytes: number
  shardsByConnections: number
  shards: number
  shardsBecause: string
}

const DAY = 86_400
const GiB = 2 ** 30
const TiB = 2 ** 40

export const usual: Omit<Load, 'sessionsPerDay'> = {
  turnsPerSession: 10,
  peak: 3,
  turnSeconds: 10,
  streamSeconds: 600,
  asks: 0.1,
  askSeconds: 3_600,
  keptDays: 30,
}

export const machines: Machines = {
  use: 0.6,
  nodeGiB: 2,
  databaseCores: 16,
  databaseTiB: 4,
  databaseConnections: 500,
  databaseWalMiB: 100,
}

export const loads = [10_000, 1_000_000, 100_000_000] as const

/** The name of the largest, and its value. Whatever is needed only once is there anyway. */
function largest(of: Record<string, number>): [name: string, value: number] {
  const [name, value] = Object.entries(of).reduce((a, b) => (b[1] > a[1] ? b : a))
  return [value > 1 ? name : 'nothing: one is enough', value]
}

export function plan(load: Load, costs: UnitCosts, by: Machines = machines): Plan {
  const sessionsPerSecond = (load.sessionsPerDay / DAY) * load.peak
  const turnsPerSecond = sessionsPerSecond * load.turnsPerSession
  const turnsAtWork = turnsPerSecond * load.turnSeconds
  const streams = sessionsPerSecond * load.streamSeconds
  const waiting = turnsPerSecond * load.asks * load.askSeconds
  const node = nodesFor({ turnsPerSecond, sessionsPerSecond, turnsAtWork, streams }, costs, by)
  const { nodes } = node
  const appendsPerSecond =
    turnsPerSecond * (costs.turnAppends + load.asks * costs.answerAppends) + sessionsPerSecond
  const databaseCores =
    (turnsPerSecond * costs.turnDatabaseCpu + sessionsPerSecond * costs.sessionDatabaseCpu) / 1e6
  const walMiB = (turnsPerSecond * costs.turnWalBytes) / 2 ** 20
  const sessionsKept = load.sessionsPerDay * load.keptDays
  const keptTiB = (sessionsKept * (costs.sessionBytes + load.turnsPerSession * costs.turnBytes)) / TiB
  const connections = nodes * costs.nodeConnections
  const shardsBy = {
    CPU: Math.ceil(databaseCores / (by.databaseCores * by.use)),
    'write-ahead log': Math.ceil(walMiB / by.databaseWalMiB),
    bytes: Math.ceil(keptTiB / by.databaseTiB),
  }
  const [shardsBecause, shards] = largest(shardsBy)
  return {
    turnsPerSecond,
    turnsAtWork,
    streams,
    waiting,
    ...node,
    memoryGiB:
      (nodes * costs.nodeKiB + streams * costs.streamKiB + turnsAtWork * costs.turnAtWorkKiB) / 2 ** 20,
    links: (nodes * (nodes - 1)) / 2,
    databaseCores,
    appendsPerSecond,
    walMiB,
    keptTiB,
    rowsKept: sessionsKept * (1 + load.turnsPerSession * costs.turnAppends),
    connections,
    shardsByCpu: shardsBy.CPU,
    shardsByWal: shardsBy['write-ahead log'],
    shardsByBytes: shardsBy.bytes,
    shardsByConnections: Math.ceil(connections / by.databaseConnections),
    shards,
    shardsBecause,
  }
}

type Rates = { turnsPerSecond: number; sessionsPerSecond: number; turnsAtWork: number; streams: number }
type Nodes = Pick<Plan, 'nodesByCpu' | 'nodesByStreams' | 'nodesByTurns' | 'nodes' | 'nodesBecause'>

/** One more than needed, so that one may be away. Requests reach any node, so most of many nodes' make a hop. */
function nodesFor(rates: Rates, costs: UnitCosts, by: Machines): Nodes {
  const cores = (nodes: number): number => {
    const hops = 1 + (costs.hopFactor - 1) * (1 - 1 / nodes)
    const { turnsPerSecond, sessionsPerSecond, streams } = rates
    const turns = turnsPerSecond * costs.turnNodeCpu * hops
    return (turns + sessionsPerSecond * costs.sessionNodeCpu + streams * costs.streamCpu) / 1e6
  }
  // With more than a few nodes nearly every request makes a hop.
  const nodesByCpu = Math.ceil(cores(Infinity) / by.use)
  const nodesByStreams = Math.ceil(rates.streams / costs.heldStreams)
  const nodesByTurns = Math.ceil(rates.turnsAtWork / costs.heldTurns)
  const [nodesBecause, needed] = largest({
    CPU: nodesByCpu,
    'open streams': nodesByStreams,
    'turns at work': nodesByTurns,
  })
  return { nodesByCpu, nodesByStreams, nodesByTurns, nodes: needed + 1, nodesBecause }
}

// ---- the page --------------------------------------------------------------------------------------------------

export const costs: UnitCosts = { ...given }

function number(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value.toLocaleString('en', { maximumSignificantDigits: 2 })
}

const bytes = (tib: number): string => (tib >= 1 ? `${number(tib)} TiB` : `${number((tib * TiB) / GiB)} GiB`)

type Line = [what: string, of: (plan: Plan) => string]

const lines: readonly Line[] = [
  ['turns a second at the peak', each => number(each.turnsPerSecond)],
  ['turns at work at one time', each => number(each.turnsAtWork)],
  ['open streams', each => number(each.streams)],
  ['sessions that wait for a person', each => number(each.waiting)],
  ['**nodes**, one of them spare', each => `**${number(each.nodes)}**`],
  ['– needed for CPU', each => number(each.nodesByCpu)],
  ['– needed for open streams', each => number(each.nodesByStreams)],
  ['– needed for turns at work', each => number(each.nodesByTurns)],
  ['memory of all nodes', each => `${number(each.memoryGiB)} GiB`],
  ['connections between nodes', each => number(each.links)],
  ['appends a second', each => number(each.appendsPerSecond)],
  ['cores of the database that are busy', each => number(each.databaseCores)],
  ['write-ahead log a second', each => `${number(each.walMiB)} MiB`],
  ['rows kept', each => number(each.rowsKept)],
  ['bytes kept', each => bytes(each.keptTiB)],
  ['connections to the database', each => number(each.connections)],
  ['**database servers** (shards)', each => `**${number(each.shards)}**`],
  ['– needed for CPU', each => number(each.shardsByCpu)],
  ['– needed for the write-ahead log', each => number(each.shardsByWal)],
  ['– needed for bytes kept', each => number(each.shardsByBytes)],
  ['– needed for connections, without a pooler', each => number(each.shardsByConnections)],
  ['nodes are needed most for', each => each.nodesBecause],
  ['database servers are needed most for', each => each.shardsBecause],
]

function planTable(): string {
  const plans = loads.map(sessionsPerDay => plan({ ...usual, sessionsPerDay }, costs))
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [
    row(['sessions a day', ...loads.map(load => load.toLocaleString('en'))]),
    row(['---', ...loads.map(() => '---:')]),
    ...lines.map(([what, of]) => row([what, ...plans.map(of)])),
  ].join('\n')
}

const costLines: readonly [what: string, of: keyof UnitCosts, unit: string][] = [
  ['a turn: CPU of the node', 'turnNodeCpu', 'µs'],
  ['a turn: CPU of the database', 'turnDatabaseCpu', 'µs'],
  ['a turn: appends', 'turnAppends', ''],
  ['a turn: commits, with 64 sessions at work', 'turnCommitsShared', ''],
  ['a turn: commits, one session alone', 'turnCommitsAlone', ''],
  ['a turn: write-ahead log', 'turnWalBytes', 'bytes'],
  ['a turn: stored', 'turnBytes', 'bytes'],
  ['a new session: CPU of the node', 'sessionNodeCpu', 'µs'],
  ['a new session: CPU of the database', 'sessionDatabaseCpu', 'µs'],
  ['a new session: stored', 'sessionBytes', 'bytes'],
  ['a question to a person: appends more than a turn without', 'answerAppends', ''],
  ['a turn through another node: CPU of both nodes, times', 'hopFactor', ''],
  ['a turn at work, with its request: memory', 'turnAtWorkKiB', 'KiB'],
  ['an open stream that is idle: memory', 'streamKiB', 'KiB'],
  ['an open stream that is idle: CPU in a second', 'streamCpu', 'µs'],
  ['a node: memory when idle', 'nodeKiB', 'KiB'],
  ['a node: connections to the database', 'nodeConnections', ''],
  ['a node: commits a second when idle', 'nodeCommits', ''],
]

function costTable(): string {
  const row = ([what, of, unit]: (typeof costLines)[number]): string =>
    `| ${what} | ${number(costs[of])}${unit && ` ${unit}`} |`
  return ['| cost | measured |', '|---|---:|', ...costLines.map(row)].join('\n')
}

// ---- measured costs --------------------------------------------------------------------------------------------

const costsFile = fileURLToPath(new URL('unit-costs.json', import.meta.url))

/** Which number of the trials is which unit cost. The others are set by hand: a limit, or what a trial was told to hold. */
const measuredAs: Partial<Record<keyof UnitCosts, string>> = {
  turnNodeCpu: 'turn: CPU of the node, µs',
  turnDatabaseCpu: 'turn: CPU of the database, µs',
  turnCommitsShared: 'turn: commits, 64 sessions at once',
  turnCommitsAlone: 'turn: commits, one session alone',
  turnWalBytes: 'turn: bytes of write-ahead log',
  turnBytes: 'turn: bytes stored',
  sessionNodeCpu: 'session: CPU of the node, µs',
  sessionDatabaseCpu: 'session: CPU of the database, µs',
  sessionBytes: 'session: bytes stored',
  streamKiB: 'an idle stream',
  streamCpu: 'CPU of one in a second',
  turnAtWorkKiB: 'KiB of each turn at work',
  nodeCommits: 'node: commits a second when nothing happens',
  nodeKiB: 'node: memory before the first request, KiB',
}

/** The costs with those replaced that were measured. */
export function measuredCosts(before: UnitCosts, results: readonly Pick<Result, 'medians'>[]): UnitCosts {
  const medians = Object.assign({}, ...results.map(each => each.medians)) as Record<string, number>
  const costs = { ...before }
  const round = (value: number): number => Number(value.toPrecision(3))
  for (const [cost, name] of Object.entries(measuredAs)) {
    const value = medians[name]
    if (value !== undefined) costs[cost as keyof UnitCosts] = round(value)
  }
  const { three, 'three, any': anyNode } = medians
  // Of three nodes' requests to any node, two thirds make a hop.
  if (three !== undefined && anyNode !== undefined) costs.hopFactor = round(1 + (anyNode / three - 1) * 1.5)
  return costs
}

const page = fileURLToPath(new URL('../docs/operations/capacity.md', import.meta.url))

/** The page with its tables replaced by those of this program. */
export function withTables(text: string): string {
  const replaced = (into: string, name: string, table: string): string => {
    const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]
    const [from, to] = [into.indexOf(begin), into.indexOf(end)]
    if (from === -1 || to < from) throw new Error(`docs/operations/capacity.md has no ${begin} … ${end}.`)
    return `${into.slice(0, from)}${begin}\n${table}\n${into.slice(to)}`
  }
  return replaced(replaced(text, 'unit costs', costTable()), 'plan', planTable())
}

export const pageText = (): string => readFileSync(page, 'utf8')

if (import.meta.main) {
  const { values } = parseArgs({
    options: { write: { type: 'boolean', default: false }, from: { type: 'string' } },
  })
  if (values.from !== undefined) {
    Object.assign(costs, measuredCosts(costs, JSON.parse(readFileSync(values.from, 'utf8')) as Result[]))
    writeFileSync(costsFile, `${JSON.stringify(costs, null, 2)}\n`)
  }
  if (values.write) writeFileSync(page, withTables(pageText()))
  console.log(`${costTable()}\n\n${planTable()}`)
}
