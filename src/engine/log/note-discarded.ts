// Results of calls that came after another writer had taken the session: nothing of them is recorded, so the operator's log
// says that they were there. The new writer settled these calls as unknown, or runs them again.
import { hasCode } from '../../language/errors.ts'
import type { EnginePorts } from '../ports/index.ts'

type LostSession = { id: string; epoch: number; lostBecause: unknown; ports: EnginePorts }

export function noteDiscarded(
  { id, epoch, lostBecause, ports }: LostSession,
  calls: readonly string[],
): void {
  if (!hasCode(lostBecause, 'lease_lost')) return
  for (const callId of calls)
    ports.log(
      'warn',
      'The result of a call came after another writer had taken its session. It was discarded.',
      {
        session: id,
        callId,
        epoch,
      },
    )
}
