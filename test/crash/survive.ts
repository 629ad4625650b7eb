// After a crash: a client without memory finishes the conversation on a new server, every promise holds, and another
// start finds nothing to repair.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Acked, converse, create, kill, lost, start } from './client.ts'
import { checkPromises, effectsOf, logOf } from './promises.ts'

export async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-crash-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Whether the server died. What it had accepted by then is in `acked`. */
export async function crash(
  folder: string,
  where?: string,
  wrap: readonly string[] = [],
  acked: Acked = new Set(),
): Promise<boolean> {
  const server = await start(folder, where, wrap)
  if (!server) return true
  const flow = create(server.url).then(id => converse(server.url, id, 'go', 'All done.', acked))
  const signal = await Promise.race([server.died, flow.then(() => undefined).catch(() => server.died)])
  await flow.catch(() => {})
  if (signal === undefined) await kill(server)
  else assert.equal(signal, 'SIGKILL')
  return signal !== undefined
}

/** Works with a server that starts on the folder, and kills it whatever happens. */
async function onServer<T>(folder: string, work: (url: string) => Promise<T>): Promise<T> {
  const server = await start(folder)
  assert.ok(server, 'the server starts again')
  try {
    return await work(server.url)
  } finally {
    await kill(server)
  }
}

/** `acked`: what must be there. */
export async function survive(folder: string, acked: Acked = new Set()): Promise<void> {
  const id = await onServer(folder, async url => {
    const session = await create(url)
    assert.deepEqual(await lost(url, session, acked), [], 'what was accepted is there')
    await converse(url, session, 'go', 'All done.')
    return session
  })
  const calls = await checkPromises(folder, id)
  assert.equal(calls.size, 7)
  const before = await logOf(folder, id)
  const effects = effectsOf(folder)

  // The repair was written to the log, so another start finds nothing to repair.
  await onServer(folder, async url => {
    assert.deepEqual(await logOf(folder, id), before)
    assert.deepEqual(effectsOf(folder), effects)
    await converse(url, id, 'and now?', 'Still here.')
  })
  await checkPromises(folder, id)
}
