// For commands that look at sessions and run nothing. They use the engine of the process that has the data folder. Without
// one they read the store themselves, and do not take the folder: a server may start meanwhile. A database they always
// read themselves.

import { buildAgents } from '../config/build-agent.ts'
import type { TurnwireConfig } from '../config/config.ts'
import { isPostgresUrl, withStore } from '../data/data-place.ts'
import { ownVersion } from '../data/version.ts'
import {
  type Engine,
  LocalEngine,
  type ReceiptSigner,
  type SessionRef,
  type SessionSummary,
} from '../engine/index.ts'
import { connect, type FoundEngine } from '../engines/folder/find-engine.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Recorded } from '../language/events.ts'
import { realWorld } from '../world.ts'

export type { Engine, SessionSummary }

const logPageBytes = 1024 * 1024

/**
 * `place`: a data folder, or the address of a PostgreSQL. `config`: the agents whose sessions are looked at, where their tools and
 * instructions matter. `receipts`: signs, where no other process has the engine.
 */
export async function visitSessions<Result>(
  place: string,
  config: TurnwireConfig | undefined,
  look: (engine: Engine, ports: FoundEngine['ports']) => Promise<Result>,
  receipts?: ReceiptSigner,
): Promise<Result> {
  const found = isPostgresUrl(place) ? undefined : await connect(place, ownVersion())
  if (found) {
    try {
      return await look(found.engine, found.ports)
    } finally {
      await found.close()
    }
  }
  const agents = config ? buildAgents(config, () => {}) : []
  return withStore(place, store => {
    const engine = new LocalEngine({
      store,
      world: realWorld(),
      vault: { seal: refuseSecrets, open: refuseSecrets },
      agent: name => agents.find(agent => agent.name === name),
      ...(receipts && { receipts }),
      log: () => {},
    })
    return look(engine, store)
  })
}

function refuseSecrets(): never {
  throw new TurnwireError('internal', 'Secrets are not opened by a command that only looks.')
}

/** Finds a session of any owner. Undefined: there is no such session. */
export async function findSession(engine: Engine, id: string): Promise<SessionSummary | undefined> {
  const owner = await engine.lookUp({ get: 'owner', session: id })
  return owner === undefined ? undefined : engine.summary({ owner, session: id })
}

/** The whole log of a session, read in pages. */
export async function readLog(engine: Engine, ref: SessionRef): Promise<Recorded[]> {
  const log: Recorded[] = []
  for (;;) {
    const page = await engine.events(ref, log.length, logPageBytes)
    if (page.length === 0) return log
    log.push(...page)
  }
}
