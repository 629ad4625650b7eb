// Opens a session in the store: reads its row, claims the right to write, loads its state. If the node's lease ends
// meanwhile, the work is given up: another node may have the session, and the copy here would be out of date.
import { sessionNotFound, TurnwireError } from '../../language/errors.ts'
import { loadState } from '../log/read-state.ts'
import type { EnginePorts, SessionRow } from '../ports/index.ts'
import type { SessionState } from '../rules/state.ts'
import { leftAlone, nothing } from './recovery.ts'
import type { Claim } from './session-home.ts'

/** `isEnding`: nobody continues its turn, which is about to be ended. */
export type ClaimedSession = { row: SessionRow; state: SessionState; claim: Claim; isEnding: boolean }

/** `recovering`: counts as an attempt to continue it. `over` says why the work is given up, and is asked after each wait. */
export async function claimSession(
  { store, world }: Pick<EnginePorts, 'store' | 'world'>,
  id: string,
  { cancelling, recovering }: { cancelling?: boolean; recovering?: true },
  over: () => TurnwireError | undefined,
): Promise<ClaimedSession> {
  const row = await store.row(id)
  if (!row) throw sessionNotFound()
  const refusal = leftAlone(row, world)
  const isEnding = refusal?.code === 'recovery_failed' && cancelling === true
  const reason = over() ?? (isEnding ? undefined : refusal)
  if (reason) throw reason
  const claimed = await store.claim(id, recovering)
  if (!claimed) throw sessionNotFound()
  const loaded = over() ? undefined : await loadState({ store, world }, id)
  const givenUp = over()
  if (!loaded || givenUp) {
    // The attempt was not the session's fault.
    if (recovering) await store.append(nothing(claimed)).catch(() => {})
    throw givenUp
  }
  const { bytes, blobBytes } = claimed.row
  const { state, snapshot } = loaded
  const claim = { epoch: claimed.epoch, bytes, blobBytes, ...(snapshot && { snapshot }) }
  return { row, state, claim, isEnding }
}

export function stopping(): TurnwireError {
  return new TurnwireError('stopping', 'Turnwire is stopping. Try again in a moment.')
}

export function movedMeanwhile(): TurnwireError {
  const why = 'This node lost its lease while it opened the session. Nothing was recorded; ask again.'
  return new TurnwireError('moved', why)
}
