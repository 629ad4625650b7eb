// Networks that lose packets. A program is run in a network namespace of its own, where its client has the address 127.0.0.2
// and its server 127.0.0.1, and a rule makes the packets of one direction vanish. Neither side is told of it.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import type { TestContext } from 'node:test'

export const client = '127.0.0.2'
export const host = '127.0.0.1'

/** The rule for local addresses has to stand behind those that cut, so it is moved. */
const prepare =
  'ip link set lo up && ip rule add pref 100 lookup local && ip rule del pref 0 && echo 3 > /proc/sys/net/ipv4/tcp_retries2'
const namespace = ['-rn', 'sh', '-c', `${prepare} && exec "$@"`, 'sh']
const tried = spawnSync('unshare', [...namespace, 'true'], { encoding: 'utf8' })

export const noNamespace =
  tried.status === 0 ? false : `no network namespace can be made: ${tried.stderr || tried.error?.message}`

/** Gives what it printed. Fails with what it logged if it failed. `wrap`: the command that makes the namespace. */
export async function inNamespace(
  t: TestContext,
  program: string,
  wrap: readonly string[] = ['unshare', ...namespace],
): Promise<string> {
  const [command, ...args] = [...wrap, process.execPath, program]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  let log = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const code = await new Promise(resolve => child.once('close', resolve))
  assert.equal(code, 0, `${out}${log}`)
  return out
}

function rule(...words: string[]): void {
  const { status, stderr } = spawnSync('ip', ['rule', ...words], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}

/** Inside the namespace: packets of this direction vanish until the function that it gives is called. */
export function cut([from, to]: readonly [string, string], pref = '10'): () => void {
  const words = ['pref', pref, 'from', from, 'to', to, 'blackhole']
  rule('add', ...words)
  return () => rule('del', ...words)
}
