// The choice of a second model, side by side with the first: the same messages go to a second session, and both show what they cost
// and how long they took. Both sessions are in the address, so a reload or a link shows the same.
import type { ReactElement } from 'react'
import type { SessionView } from '../../../../src/react/index.ts'
import { duration, plural } from '../../../../src/react/words.ts'
import { useConsole } from '../../lib/console-state.tsx'
import { money } from '../../lib/parts.tsx'
import { type Address, navigate, withQuery } from '../../lib/router.tsx'

/** The choice of the second model. With none the playground has one conversation. */
export function RivalChoice({ address, own }: { address: Address; own: string }): ReactElement | null {
  const { models: known } = useConsole()
  const rival = address.query.get('rival') ?? ''
  const models = known.filter(name => name !== own)
  if (models.length === 0 && rival === '') return null
  return (
    <select
      className="tw-input rival-choice"
      aria-label="Compare with another model"
      value={rival}
      onChange={event =>
        // Both begin anew: they are compared by the same messages.
        navigate(
          withQuery(address, {
            rival: event.target.value,
            session: undefined,
            rivalSession: undefined,
          }),
        )
      }
    >
      <option value="">{rival === '' ? 'Compare…' : 'One model'}</option>
      {[...new Set(rival === '' ? models : [rival, ...models])].map(name => (
        <option key={name} value={name}>
          {name === rival ? `Compared with ${name}` : name}
        </option>
      ))}
    </select>
  )
}

/** Tokens, cost and time of all turns so far. */
export function describeWork({ usage, turns }: SessionView): string {
  const { input, output, cost, priced } = usage
  const ms = turns.reduce((sum, turn) => sum + ((turn.endedAt ?? turn.startedAt) - turn.startedAt), 0)
  const price = priced ? money(cost) : cost > 0 ? `${money(cost)} or more` : 'no price set'
  const time = turns.some(turn => turn.endedAt !== undefined) ? [duration(ms)] : []
  return [plural(input + output, 'token'), price, ...time].join(' · ')
}
