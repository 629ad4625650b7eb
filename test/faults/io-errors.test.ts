// The n-th write or sync of the database fails, once or from then on, while a client works: the server answers (503, or 507
// for a full disk), loses nothing that it accepted, records nothing that it refused, and works again once the disk does; at
// the latest after a restart. In a long run the fault is put at every place.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Acked,
  converse,
  create,
  kill,
  NeverSaid,
  Refused,
  type Server,
  start,
} from '../crash/client.ts'
import { crash, inFolder, survive } from '../crash/survive.ts'
import { isLong, places } from './scale.ts'
import { callsTraced, noStrace, type SystemCall, tracing } from './strace.ts'

type Fault = { call: SystemCall; error: string; status: readonly number[] }

const faults: Record<string, Fault> = {
  'a sync fails': { call: 'fsync', error: 'EIO', status: [503] },
  'a write fails': { call: 'pwrite64', error: 'EIO', status: [503] },
  'the disk is full': { call: 'pwrite64', error: 'ENOSPC', status: [503, 507] },
}

/**
 * Talks until the conversation is over, or the server has refused this many times. Gives the statuses of the refusals. While
 * the disk fails for good, a client that waits for a tool of the server waits in vain, and is refused nothing.
 */
async function talk(server: Server, acked: Acked, isLasting: boolean): Promise<number[]> {
  const most = isLasting ? 3 : 400
  const refused: number[] = []
  while (refused.length < most) {
    try {
      const id = await create(server.url)
      await converse(server.url, id, 'go', 'All done.', acked)
      return refused
    } catch (error) {
      if (isLasting && error instanceof NeverSaid) {
        await assertUnwell(server)
        return refused
      }
      if (!(error instanceof Refused)) throw error
      refused.push(error.status)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
  if (isLasting) await assertUnwell(server)
  return refused
}

async function assertUnwell({ url }: Server): Promise<void> {
  assert.equal((await fetch(`${url}/health`)).status, 503)
}

/** How many calls the start makes, and how many the whole conversation. */
async function countCalls(call: SystemCall): Promise<{ start: number; all: number }> {
  const before = await inFolder(async folder => {
    const server = await start(folder, undefined, tracing(folder, call))
    if (server) await kill(server)
    return callsTraced(folder, call)
  })
  return inFolder(async folder => {
    await crash(folder, undefined, tracing(folder, call))
    return { start: before, all: callsTraced(folder, call) }
  })
}

async function tryFault({ call, error, status }: Fault, at: string): Promise<void> {
  const isLasting = at.endsWith('+')
  await inFolder(async folder => {
    const acked: Acked = new Set()
    const server = await start(folder, undefined, tracing(folder, call, `error=${error}:when=${at}`))
    // A database that cannot be made stops the start, and says why.
    if (server) {
      const refused = await talk(server, acked, isLasting)
      for (const each of refused) assert.ok(status.includes(each), `${each} at ${at}`)
      if (!isLasting) assert.ok(refused.length < 400, `it never worked again after ${at}`)
      await kill(server)
    }
    await survive(folder, acked)
  })
}

describe('the disk fails', { skip: noStrace }, () => {
  for (const [name, fault] of Object.entries(faults))
    test(`${name}: once, and from then on`, async t => {
      const { start: first, all } = await countCalls(fault.call)
      t.diagnostic(`${all} calls, of which the start makes ${first}`)
      // In a short run the start is left alone: its failures are a clean refusal to start.
      const tried = isLong ? places(all, all) : places(all - first, 2).map(at => at + first)
      for (const at of tried) for (const when of [`${at}`, `${at}+`]) await tryFault(fault, when)
    })

  test('while it recovers from a kill, and again', async () => {
    for (const at of places(12, 1))
      await inFolder(async folder => {
        const acked: Acked = new Set()
        await crash(folder, 'intent-recorded:1', [], acked)
        const wrap = tracing(folder, 'fsync', `error=EIO:when=${at}+`)
        const server = await start(folder, undefined, wrap)
        if (server) {
          await talk(server, acked, true)
          await kill(server)
        }
        await survive(folder, acked)
      })
  })
})
