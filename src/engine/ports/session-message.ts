// A message that is said while a turn is under way, as callers of the engine give and see it: a part of boundary.ts.
import type { InputPart } from '../../language/content.ts'
import type { WaitMode } from '../../language/events.ts'

/**
 * What becomes of a message while a turn is under way. `refuse`: it is refused with `busy` while the turn runs, and abandons the
 * calls of a turn that waits. `queue`: it starts a turn when this one has ended. `steer`: it joins the model's next request in
 * this turn, after the results of the calls that are open; if the turn ends first, it starts the next one. `interrupt`: the
 * model's step ends now, calls that may be stopped are cancelled, and then it steers. No call that waits is abandoned by the
 * last three.
 */
export type During = 'refuse' | WaitMode

export type MessageState = 'queued' | 'delivered' | 'withdrawn'

/** A message that waits for its delivery. `at`: when it was said. */
export type SessionMessage = { id: string; during: WaitMode; parts: InputPart[]; wire: string; at: number }
