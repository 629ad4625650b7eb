// Runs in a network namespace of its own (network.test.ts). A client follows a session while its network is cut in both
// directions, again and again, and mended: it asks on with the last id that it has seen. Prints how often it was cut off.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { attacked, script, until } from '../bounded/attack-rig.ts'
import { client, cut, host } from '../bounded/network.ts'
import { isLong } from './scale.ts'

const cuts = isLong ? 10 : 2
/** Longer than the pause between two heartbeats. A client takes a stream that is silent for so long as dead. */
const silenceMs = 1_500

const ends: (() => unknown)[] = []
const lifetime = { after: (end: () => unknown) => void ends.unshift(end) }

/** Ids of the events, in the order in which they came. */
const seen: number[] = []
let connections = 0
let stopped = false

/** Reads until the stream ends or is silent. A timeout of the socket is the only sign of a cut. */
function readOnce(port: number, session: string): Promise<void> {
  connections += 1
  const last = seen.at(-1)
  return new Promise(resolve => {
    const asked = request({
      host,
      port,
      localAddress: client,
      path: `/sessions/${session}/events`,
      headers: last === undefined ? {} : { 'last-event-id': String(last) },
      timeout: silenceMs,
      agent: false,
    })
    asked.on('timeout', () => asked.destroy())
    asked.on('close', resolve)
    asked.on('error', () => {})
    asked.on('response', response => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        const whole = text.lastIndexOf('\n\n')
        for (const [, id] of text.slice(0, whole + 2).matchAll(/^id: ?(\d+)$/gm)) seen.push(Number(id))
        if (whole >= 0) text = text.slice(whole + 2)
      })
      response.on('error', () => {})
    })
    asked.end()
  })
}

async function follow(port: number, session: string): Promise<void> {
  while (!stopped) {
    await readOnce(port, session)
    // While the network is cut, connecting fails at once.
    await pause(100)
  }
}

/** The ids of the whole log, read over a network that is not cut. */
async function idsOf(port: number, session: string): Promise<number[]> {
  const ids: number[] = []
  const answer = await fetch(`http://${host}:${port}/sessions/${session}/events`)
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  await until(async () => {
    const { value = '' } = await reader.read()
    text += value
    return /^: ?|\n: ?/.test(text)
  })
  await reader.cancel()
  for (const [, id] of text.matchAll(/^id: ?(\d+)$/gm)) ids.push(Number(id))
  return ids
}

const server = await attacked(lifetime, { config: { server: { stallMs: 1_000, heartbeatMs: 300 } } })
try {
  const session = await server.session()
  const following = follow(server.port, session)
  for (let count = 0; count < cuts; count += 1) {
    await server.turn(session, `before cut ${count}`)
    const mend = [cut([client, host], '10'), cut([host, client], '11')]
    const before = connections
    for (let turn = 0; turn < 3; turn += 1)
      await server.turn(session, script({ calls: [{ name: 'give', input: { bytes: 10 } }] }))
    // Half of the cuts are shorter than the client's patience: the same connection goes on.
    if (count % 2 === 0) await until(() => connections > before)
    for (const each of mend) each()
    await server.turn(session, `after cut ${count}`)
  }
  const all = await idsOf(server.port, session)
  await until(() => seen.at(-1) === all.at(-1), 60_000)
  assert.deepEqual(seen, all, 'every event once, in order')
  stopped = true
  process.stdout.write(`${cuts} cuts, ${connections} connections, ${seen.length} events\n`)
  for (const end of ends.splice(0)) await end()
  await following
} finally {
  for (const end of ends) await end()
}
