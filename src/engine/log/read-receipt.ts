// Gets the receipt of a call through the boundary: has the log signed as far as it can be, then finds the call in it.
import { TurnwireError } from '../../language/errors.ts'
import type { Recorded } from '../../language/events.ts'
import { findReceipt, type Receipt } from '../../language/make-receipt.ts'
import type { Engine, SessionRef } from '../ports/boundary.ts'

const pageBytes = 256 * 1024

/** Rejects with `not_found` if the call is not settled or its turn is not over, and with `bad_request` if logs are not signed. */
export async function readReceipt(
  engine: Pick<Engine, 'command' | 'events'>,
  ref: SessionRef,
  callId: string,
  withSalts = false,
): Promise<Receipt> {
  const find = () => findReceipt(ref.session, readPages(engine, ref), callId, withSalts)
  const known = await find()
  if (known) return known
  await engine.command(ref, { do: 'sign' })
  const receipt = await find()
  if (receipt) return receipt
  throw new TurnwireError(
    'not_found',
    'There is no receipt of this call: it is not settled, or its turn is not over.',
  )
}

async function* readPages(engine: Pick<Engine, 'events'>, ref: SessionRef): AsyncGenerator<Recorded[]> {
  for (let last = 0; ; ) {
    const page = await engine.events(ref, last, pageBytes)
    if (page.length === 0) return
    yield page
    last = page.at(-1)!.seq
  }
}
