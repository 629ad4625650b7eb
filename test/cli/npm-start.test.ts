// `npm start` is stopped like any program: what it started goes with it.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createConnection } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { environment, folder, root, watched } from './rig.ts'

test('a server that npm started stops when npm is stopped', { timeout: 600_000 }, async t => {
  const data = folder(t)
  const env = environment({ PORT: '0', TURNWIRE_DATA: data })
  const { child, until, exit } = watched(t, spawn('npm', ['start'], { cwd: root, env }))
  const [, port] = await until(/Turnwire listens on http:\/\/127\.0\.0\.1:(\d+)/)
  child.kill('SIGTERM')
  await exit
  let left = 3000
  while ((await answers(Number(port))) && left > 0) {
    left -= 1
    await sleep(100)
  }
  assert.ok(left > 0, 'it still answers, long after npm is gone')
})

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
