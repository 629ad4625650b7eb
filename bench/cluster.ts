// Many nodes on one PostgreSQL: what a hop to the node that has a session costs, what a turn costs on three nodes and on one,
// and how long it takes until the sessions of a killed node go on. Nodes are processes of their own; so is the database.
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { begin, ended, type NodeProcess, type Processes, processes, say } from '../test/cluster/processes.ts'
import { limit, type Result, type Trial } from './harness.ts'

const leaseMs = 10_000

type Ending = { after: (over: () => Promise<void>) => void; end: () => Promise<void> }

function ending(): Ending {
  const all: (() => Promise<void>)[] = []
  return {
    after: over => void all.push(over),
    end: async () => {
      for (const over of all) await over()
    },
  }
}

async function started(
  count: number,
): Promise<{ cluster: Processes; nodes: NodeProcess[]; end: Ending['end'] }> {
  const { after, end } = ending()
  const cluster = await processes({ after }, leaseMs)
  const nodes: NodeProcess[] = []
  for (let index = 0; index < count; index++) nodes.push(await cluster.start())
  return { cluster, nodes, end }
}

/** `turns` turns of each session, all sessions at once. `at` names the node that is asked. */
async function work(
  sessions: readonly string[],
  turns: number,
  at: (index: number) => string,
): Promise<void> {
  await Promise.all(
    sessions.map(async (id, index) => {
      for (let turn = 0; turn < turns; turn++) await say(at(index), id, 'Hello')
    }),
  )
}

/** The same sessions, asked for on the node that has them and on another one. */
export async function hopToHolder(): Promise<Trial> {
  const { nodes, end } = await started(2)
  const [a, b] = nodes as [NodeProcess, NodeProcess]
  const fresh = async (url: string): Promise<void> => {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => begin(a.url)))
    await work(sessions, 20, () => url)
  }
  return {
    name: 'a turn through another node, and on the node that has the session',
    measure: 'wall',
    units: 160,
    rounds: 9,
    // Each node compiles its code by itself.
    warmUps: 6,
    variants: [
      { name: 'on its node', run: () => fresh(a.url) },
      { name: 'through another', run: () => fresh(b.url) },
    ],
    bars: [{ id: 'hop', ours: 'through another', floor: 'on its node', most: 1.25 }],
    close: end,
  }
}

/** CPU time of processes, in microseconds. */
function cpuOf(nodes: readonly NodeProcess[]): number {
  const ticks = nodes.map(({ child }) => {
    const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) * 10_000
}

const turns = 20
/** Sessions that work at the same time on each node. */
const perNode = 32

/**
 * What a turn costs the nodes: on one; on three, with three times as many clients that stay with a node; and with clients
 * that ask any node.
 */
export async function threeNodes(): Promise<Trial> {
  const { nodes, end } = await started(3)
  const run = async (used: readonly NodeProcess[], stay: boolean): Promise<number> => {
    const at = (index: number): string => used[index % used.length]!.url
    const sessions = await Promise.all(
      Array.from({ length: perNode * used.length }, (_, index) => begin(at(index))),
    )
    const before = cpuOf(nodes)
    let asked = 0
    await work(sessions, turns, index => at(stay ? index : asked++))
    return (cpuOf(nodes) - before) / (sessions.length * turns)
  }
  return {
    name: 'CPU of a turn on three nodes and on one',
    measure: 'told',
    unit: 'µs of CPU per turn',
    units: 1,
    rounds: 5,
    warmUps: 6,
    variants: [
      { name: 'one', run: () => run(nodes.slice(0, 1), true) },
      { name: 'three', run: () => run(nodes, true) },
      { name: 'three, any', run: () => run(nodes, false) },
    ],
    bars: [{ id: 'nodes', ours: 'three', floor: 'one', most: 1.15 }],
    close: end,
  }
}

const abandoned = 1_000

/** From the kill until another node has claimed the last session of the killed one. */
export async function takeOver(): Promise<Result> {
  const { cluster, nodes, end } = await started(3)
  const [a] = nodes as [NodeProcess]
  for (let count = 0; count < abandoned; count += 50) {
    const ids = await Promise.all(Array.from({ length: 50 }, () => begin(a.url)))
    for (const id of ids) void say(a.url, id, 'Please hang').catch(() => {})
  }
  const left = async (where: string): Promise<number> => {
    const [row] = await cluster.query<{ left: string }>(
      `SELECT count(*) AS left FROM $schema.sessions WHERE ${where}`,
    )
    return Number(row?.left)
  }
  while ((await left(`status = 'running'`)) < abandoned) await pause(200)
  const [of] = await cluster.query<{ node: string }>('SELECT node FROM $schema.sessions LIMIT 1')
  const began = performance.now()
  a.child.kill('SIGKILL')
  await ended(a.child)
  while ((await left(`node = '${of?.node}'`)) > 0) await pause(50)
  const tookMs = performance.now() - began
  const shares = await cluster.query<{ count: string }>('SELECT count(*) FROM $schema.sessions GROUP BY node')
  await end()
  return {
    trial: `${abandoned} sessions of a killed node are claimed by two others`,
    unit: 'ms, and sessions',
    medians: {
      'taken over after': tookMs,
      ...Object.fromEntries(shares.map(({ count }, index) => [`by node ${index + 1}`, Number(count)])),
    },
    bars: [limit('take-over', 'taken over after', tookMs, leaseMs + 1_000, 'ms')],
  }
}
