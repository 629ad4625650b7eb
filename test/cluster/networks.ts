// Networks of several machines, on one: each node has a network namespace of its own, which a pair of virtual cables connects
// with the one where the database and the clients are. A cut makes packets vanish, so that no side is told of it. It needs to be
// root: PostgreSQL runs under another account.
import assert from 'node:assert/strict'
import { type ChildProcess, spawnSync } from 'node:child_process'

/** Where nodes find the database. */
export const databaseHost = '10.77.0.1'

/** The address of node `number` (1 and up), and that under which its clients reach it. */
export const addressOf = (number: number): string => `10.77.${number}.2`
const clientsOf = (number: number): string => `10.77.${number}.1`

/** The rule for local addresses has to stand behind those that cut, so it is moved. */
const prepare = [
  'ip link set lo up',
  `ip addr add ${databaseHost}/32 dev lo`,
  'ip rule add pref 100 lookup local',
  'ip rule del pref 0',
  'echo 1 > /proc/sys/net/ipv4/ip_forward',
]
export const network = ['unshare', '-n', 'sh', '-c', `${prepare.join(' && ')} && exec "$@"`, 'sh']

function whyNot(): string | false {
  if (process.getuid?.() !== 0) return 'networks of several machines are made as root only'
  const cable = 'ip link add name one type veth peer name other && nsenter --version'
  const tried = spawnSync(network[0]!, [...network.slice(1), 'sh', '-c', cable], { encoding: 'utf8' })
  return tried.status === 0 ? false : `no network can be made: ${tried.stderr || tried.error?.message}`
}

/** Why there are none here. */
export const noNetworks = whyNot()

function ip(words: string, inside: readonly string[] = []): void {
  const [command = '', ...args] = [...inside, 'ip', ...words.split(' ')]
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  assert.equal(status, 0, `ip ${words}: ${stderr}`)
}

/** The command of a process with a network of its own. It waits for a line on its input. */
export const alone = ['unshare', '-n', 'sh', '-c', 'read -r go && exec "$@"', 'sh']

/** Connects the network of a process that `alone` runs, and lets it go on. */
export function plugIn(child: ChildProcess, number: number): void {
  const pid = String(child.pid)
  const inside = ['nsenter', '-t', pid, '-n']
  const [near, far] = [`near${number}`, `far${number}`]
  untilAlone(pid)
  ip(`link add name ${near} type veth peer name ${far} netns ${pid}`)
  ip(`addr add ${clientsOf(number)}/24 dev ${near}`)
  ip(`link set ${near} up`)
  ip('link set lo up', inside)
  ip(`addr add ${addressOf(number)}/24 dev ${far}`, inside)
  ip(`link set ${far} up`, inside)
  ip(`route add default via ${clientsOf(number)}`, inside)
  child.stdin?.write('go\n')
}

/** A process is in our network until `unshare` has run. */
function untilAlone(pid: string): void {
  const read = (of: string): string =>
    spawnSync('readlink', [`/proc/${of}/ns/net`], { encoding: 'utf8' }).stdout
  const own = read('self')
  for (let tries = 0; read(pid) === own; tries++)
    assert.ok(tries < 10_000, 'it never got a network of its own')
}

let cuts = 0

/** Packets between two addresses vanish, in both directions, until the function that it gives is called. */
export function cut(one: string, other: string): () => void {
  const rules = [
    [one, other],
    [other, one],
  ].map(([from, to]) => `pref ${10 + cuts++} from ${from} to ${to} blackhole`)
  for (const each of rules) ip(`rule add ${each}`)
  return () => {
    for (const each of rules) ip(`rule del ${each}`)
  }
}

export const cutFromDatabase = (number: number): (() => void) => cut(addressOf(number), databaseHost)
export const cutNodes = (one: number, other: number): (() => void) => cut(addressOf(one), addressOf(other))
export const cutFromClients = (number: number): (() => void) => cut(clientsOf(number), addressOf(number))
