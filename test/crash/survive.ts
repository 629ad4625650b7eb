// After a crash: a client without memory finishes the conversation on a new server, every promise holds, and another
// start finds nothing to repair.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { converse, create, kill, type Server, start } from './client.ts'
import { checkPromises, effectsOf, logOf } from './promises.ts'

export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-crash-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether the server died. */
export async function crash(folder: string, where?: string, wrap: readonly string[] = []): Promise<boolean> {
  const server = await start(folder, where, wrap)
  if (!server) return true
  const flow = create(server.url).then(id => converse(server.url, id, 'go', 'All done.'))
  const signal = await Promise.race([server.died, flow.then(() => undefined).catch(() => server.died)])
  await flow.catch(() => {})
  if (signal === undefined) await kill(server)
  else assert.equal(signal, 'SIGKILL')
  return signal !== undefined
}

async function again(folder: string): Promise<Server> {
  const server = await start(folder)
  assert.ok(server, 'the server starts again')
  return server
}

export async function survive(folder: string): Promise<void> {
  const second = await again(folder)
  const id = await create(second.url)
  await converse(second.url, id, 'go', 'All done.')
  await kill(second)
  const calls = await checkPromises(folder, id)
  assert.equal(calls.size, 7)
  const before = await logOf(folder, id)
  const effects = effectsOf(folder)

  // The repair was written to the log, so another start finds nothing to repair.
  const third = await again(folder)
  assert.deepEqual(await logOf(folder, id), before)
  assert.deepEqual(effectsOf(folder), effects)
  await converse(third.url, id, 'and now?', 'Still here.')
  await kill(third)
  await checkPromises(folder, id)
}
