// A session with one call that policy allows and one that a person allows, whose log is signed.
import { openReceiptKeys, type ReceiptKeys } from '../../src/data/receipt-keys.ts'
import type { Session, Store } from '../../src/engine/index.ts'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import type { Recorded } from '../../src/language/events.ts'
import type { Script } from '../../src/models/scripted/index.ts'
import { trustKeys } from '../../src/proof/trust.ts'
import { type LogItem, LogVerifier, type VerifiedLog } from '../../src/proof/verify-log.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, type Rig, type RigOptions, say, until } from '../engine/rig.ts'

export const keys = openReceiptKeys({
  folder: undefined,
  given: 'a-secret-that-signs-the-logs-of-tests-only',
})
export const trusted = trustKeys(keys.published())

const input = { type: 'object', properties: { n: { type: 'number' } } } as const
export const tools = [
  tool({ name: 'look', description: 'Looks.', input, trust: 'trusted', readOnly: true, run: () => 'seen' }),
  tool({ name: 'pay', description: 'Pays.', input, trust: 'ask', run: () => 'paid' }),
]
/** Both calls after each message, then an answer. */
export const script: Script = request =>
  request.history.at(-1)?.role === 'user'
    ? {
        calls: [
          { name: 'look', input: { n: 1 } },
          { name: 'pay', input: { n: 2 } },
        ],
      }
    : { text: 'Done.' }

export type Played = { rig: Rig; session: Session; log: Recorded[] }

export async function play(over: RigOptions & { receipts?: ReceiptKeys } = {}, turns = 1): Promise<Played> {
  const rig = makeRig({ tools, script, receipts: keys, ...over })
  const session = await begin(rig)
  for (let turn = 0; turn < turns; turn += 1) await playTurn(session)
  await runCommand(session, { do: 'sign' })
  return { rig, session, log: await rig.store.read(session.id) }
}

export async function playTurn(session: Session): Promise<void> {
  await say(session, 'pay it')
  const callId = session.state.batch.find(({ stage }) => stage === 'asking')?.part.id ?? ''
  const decisions = [{ callId, granted: true, by: 'maria' }]
  await until(session, () => session.respond({ results: [], decisions }))
}

export function verify(session: string, log: readonly LogItem[], head?: number): VerifiedLog {
  const verifier = new LogVerifier(session, trusted)
  for (const item of log) verifier.take(item)
  return verifier.end(head)
}

export async function verifyStored(store: Store, session: string): Promise<VerifiedLog> {
  const row = await store.row(session)
  return verify(session, await store.read(session), row?.head)
}
