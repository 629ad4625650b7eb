// A node that tests start, stop and kill: a real server on PostgreSQL, with tools whose effects are written outside the
// database. Run as `node server.ts <folder> <database> <schema> <lease>`; its first line is its address and process id.
// NODE_SETTINGS, as JSON, are `NodeSettings` of processes.ts.
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { announce } from '../announce.ts'
import type { NodeSettings } from './processes.ts'

const [, , folder = '', url = '', schema = '', lease = '3000'] = process.argv
const { host, keys = [], patienceMs } = JSON.parse(process.env['NODE_SETTINGS'] ?? '{}') as NodeSettings // as sent

function effect(name: string, callId: string): void {
  appendFileSync(join(folder, 'effects'), `${name} ${callId} ${process.pid}\n`)
}

/** Takes effect, then runs until the file `release` is there. */
const pay = tool({
  name: 'pay',
  description: 'Pays.',
  input: { type: 'object' },
  run: async (_input, { callId }) => {
    effect('pay', callId)
    while (!existsSync(join(folder, 'release'))) await pause(20)
    return 'paid'
  },
})

const mail = tool({
  name: 'mail',
  description: 'Mails.',
  input: { type: 'object' },
  run: (_input, { callId }) => {
    effect('mail', callId)
    return 'mailed'
  },
})

const turnwire = await Turnwire.open({
  agents: [
    {
      name: 'helper',
      tools: [pay, mail],
      model: scripted(({ history }) => {
        const last = history.at(-1)
        if (last?.role !== 'user') return { text: 'All done.' }
        const words = JSON.stringify(last)
        if (words.includes('pay')) return { calls: [{ name: 'pay', input: {} }] }
        if (words.includes('mail')) return { calls: [{ name: 'mail', input: {} }] }
        if (words.includes('hang')) return { hang: true }
        // Long enough that a kill meets it in the middle.
        if (words.includes('slow')) return { text: 'A slow answer. '.repeat(20), chunk: 10, delayMs: 40 }
        return { text: 'A quick answer.', chunk: 5 }
      }),
    },
  ],
  data: postgresStore({ url, schema, connections: 4, ...(patienceMs !== undefined && { patienceMs }) }),
  server: {
    log: 'warn',
    graceMs: 5_000,
    cluster: { leaseMs: Number(lease) },
    keys,
    ...(host !== undefined && { hosts: [host] }),
  },
})
const running = await startServer(turnwire, { port: 0, ...(host !== undefined && { host }) })
process.once('SIGTERM', () => void running.stop().then(() => process.exit(0)))
announce(`${running.url} ${process.pid}`)
