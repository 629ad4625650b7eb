// The log of a session as it is stored, for commands that prove it: with everything that digests are made from. It is signed first as
// far as it can be.
import { isPostgresUrl, withStore } from '../data/data-place.ts'
import { keysInFolder, openReceiptKeys } from '../data/receipt-keys.ts'
import type { Store } from '../engine/index.ts'
import { hasCode } from '../language/errors.ts'
import type { Recorded } from '../language/events.ts'
import type { ReceiptKey } from '../language/receipt-keys.ts'
import { visitSessions } from '../library/visit.ts'
import { namedKeys, type TrustedKeys, trustKeys } from '../proof/trust.ts'
import { textValues, type Values } from './command.ts'
import { dataFolder, noSuchSession } from './setup.ts'

const pageBytes = 1024 * 1024

export async function* storedPages(
  store: Store,
  session: string,
): AsyncGenerator<Recorded[], void, undefined> {
  for (let last = 0; ; ) {
    const page = await store.read(session, last, { maxBytes: pageBytes })
    if (page.length === 0) return
    yield page
    last = page.at(-1)!.seq
  }
}

/** The keys of this installation: those of its folder, or those that come from the environment. */
export async function ownKeys(values: Values): Promise<ReceiptKey[]> {
  if (process.env['TURNWIRE_RECEIPTS_KEY']) return openReceiptKeys({ folder: undefined }).published()
  const inFolder = keysInFolder(await dataFolder(values))
  const shared = process.env['TURNWIRE_CLUSTER_SECRET']
  if (inFolder.length > 0 || !shared) return inFolder
  return openReceiptKeys({ folder: undefined, shared }).published()
}

/** Those of each `--key`, or else the own ones. */
export async function trustedKeys(values: Values): Promise<TrustedKeys> {
  const given = textValues(values, 'key')
  return given.length === 0 ? trustKeys(await ownKeys(values)) : namedKeys(given)
}

/** A session in a database belongs to a node: that node signs it. */
export async function signSession(place: string, session: string): Promise<void> {
  if (isPostgresUrl(place)) return
  await visitSessions(
    place,
    undefined,
    async engine => {
      const owner = await engine.lookUp({ get: 'owner', session })
      if (owner === undefined) throw noSuchSession(session)
      await engine.command({ owner, session }, { do: 'sign' }).catch((error: unknown) => {
        // The server that has it signs no logs. What was signed before can still be shown.
        if (!hasCode(error, 'bad_request')) throw error
      })
    },
    openReceiptKeys({ folder: place }),
  )
}

/** Throws if there is no such session. */
export async function storedLog(place: string, session: string): Promise<Recorded[]> {
  return withStore(place, async store => {
    if (!(await store.row(session))) throw noSuchSession(session)
    const log: Recorded[] = []
    for await (const page of storedPages(store, session)) log.push(...page)
    return log
  })
}
