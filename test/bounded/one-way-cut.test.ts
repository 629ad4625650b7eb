// A network that loses the packets of one direction, at the level of TCP (fault K9): the server does not keep a stream or a
// socket for ever, whichever side has gone silent.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'

/** The rule for local addresses has to stand behind those that cut, so it is moved. */
const prepare =
  'ip link set lo up && ip rule add pref 100 lookup local && ip rule del pref 0 && echo 3 > /proc/sys/net/ipv4/tcp_retries2'
const namespace = ['-rn', 'sh', '-c', `${prepare} && exec "$@"`, 'sh']
const tried = spawnSync('unshare', [...namespace, 'true'], { encoding: 'utf8' })
const skip =
  tried.status === 0 ? false : `no network namespace can be made: ${tried.stderr || tried.error?.message}`

test('a connection that is cut in one direction is given up, and its place is free again', {
  skip,
}, async t => {
  const program = join(import.meta.dirname, 'one-way-cut.ts')
  const child = spawn('unshare', [...namespace, process.execPath, program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  let log = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text))
  const code = await new Promise(resolve => child.once('close', resolve))
  assert.equal(code, 0, log)
  assert.equal(out.match(/: given up$/gm)?.length, 6, out)
  t.diagnostic(out)
})
