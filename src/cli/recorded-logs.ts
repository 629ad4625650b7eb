// Recorded sessions for commands: one of a data folder or a database, all of them, or those of exported files. Of many, a log is read
// when it is needed.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { checkFile, readLines } from '../data/copies/check.ts'
import { allRows } from '../data/copies/export.ts'
import { withStore } from '../data/data-place.ts'
import { createVault, vaultKey } from '../data/vault.ts'
import type { Vault } from '../engine/index.ts'
import type { Recorded } from '../language/events.ts'
import { findSession, readLog, type SessionSummary, visitSessions } from '../library/visit.ts'
import type { RecordedLog } from '../verdicts/backtest.ts'
import type { Values } from './command.ts'
import { dataFolder, noSuchSession, sessionPlace } from './setup.ts'
import { storedPages } from './signed-log.ts'

export type SessionLog = [id: string, log: readonly Recorded[]]

/** Throws if there is no such session. */
export async function readSession(
  values: Values,
  id: string,
): Promise<{ session: SessionSummary; log: Recorded[] }> {
  return visitSessions(await sessionPlace(values), undefined, async engine => {
    const session = await findSession(engine, id)
    if (!session) throw noSuchSession(id)
    return { session, log: await readLog(engine, { owner: session.owner, session: id }) }
  })
}

/** Throws if the file is damaged. */
export async function readExport(file: string): Promise<SessionLog[]> {
  await checkFile(file)
  const logs = new Map<string, Recorded[]>()
  let current: Recorded[] = []
  for await (const { line } of readLines(file)) {
    if ('session' in line) {
      current = []
      logs.set(line.session, current)
    } else if ('event' in line) current.push({ seq: line.seq, event: line.event })
  }
  return [...logs]
}

/** `files`: exported ones. None: the sessions of the data folder or the database. */
export async function withRecordedLogs<Result>(
  values: Values,
  files: readonly string[],
  work: (logs: RecordedLog[]) => Promise<Result>,
): Promise<Result> {
  if (files.length > 0) {
    const logs = new Map<string, RecordedLog>()
    for (const file of files)
      for (const [session, log] of await readExport(file))
        logs.set(session, {
          session,
          createdAt: log[0]?.event.at ?? 0,
          updatedAt: log.at(-1)?.event.at ?? 0,
          pages: () => inOnePage(log),
        })
    return work([...logs.values()])
  }
  return withStore(await sessionPlace(values), async store => {
    const logs: RecordedLog[] = []
    for await (const { id, createdAt, updatedAt } of allRows(store))
      logs.push({ session: id, createdAt, updatedAt, pages: () => storedPages(store, id) })
    return work(logs)
  })
}

export async function* inOnePage(
  log: readonly Recorded[],
): AsyncGenerator<readonly Recorded[], void, undefined> {
  yield log
}

/** The key that sealed arguments can be opened with. A folder that has none gets none. */
export async function openVault(values: Values): Promise<Vault | undefined> {
  const folder = await dataFolder(values)
  const hasKey = existsSync(join(folder, 'vault.key')) || Boolean(process.env['TURNWIRE_VAULT_KEY'])
  return hasKey ? createVault(vaultKey(folder)) : undefined
}
