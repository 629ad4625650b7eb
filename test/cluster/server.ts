// A node that tests start, stop and kill: a real server on PostgreSQL, with tools whose effects are written outside the
// database. Run as `node server.ts <folder> <database> <schema> <lease>`; its first line is its address and process id. A line
// on its input, such as `attach <session>`, is an order, and is repeated on its output once it is done.
// NODE_SETTINGS, as JSON, are `NodeSettings` of processes.ts.
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { localOwner } from '../../src/callers/keys.ts'
import type { SessionRef } from '../../src/engine/index.ts'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { announce } from '../announce.ts'
import type { NodeOrder, NodeSettings } from './processes.ts'
import { lookTool } from './rig.ts'

const [, , folder = '', url = '', schema = '', lease = '3000'] = process.argv
const {
  host,
  keys = [],
  patienceMs,
  prepare,
} = JSON.parse(process.env['NODE_SETTINGS'] ?? '{}') as NodeSettings // as sent

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
  data: postgresStore({
    ...{ url, schema, connections: 4 },
    ...(patienceMs !== undefined && { patienceMs }),
    ...(prepare !== undefined && { prepare }),
  }),
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

const { engine } = runtimeOf(turnwire)
const orders: Record<NodeOrder, (ref: SessionRef) => Promise<unknown>> = {
  open: ref => engine.command(ref, { do: 'revoke', grantId: 'none', by: 'ana' }),
  claim: ref => engine.command(ref, { do: 'claim', callId: 'none', by: 'ana', forMs: 1000 }),
  attach: async ref => {
    // The tools stay attached for as long as it is followed.
    for await (const [item] of engine.attach(ref, [lookTool]))
      if (item?.type === 'attached') finish('attach', ref)
  },
}
const finish = (order: string, { session }: SessionRef): void => announce(`${order} ${session}`)

createInterface(process.stdin).on('line', line => {
  const [order, session] = line.split(' ') as [NodeOrder, string] // as processes.ts writes it
  const ref = { owner: localOwner, session }
  void orders[order](ref)
    .catch(() => {})
    .then(() => finish(order, ref))
})
