// The button that stops one call which is not over. The turn and its other calls go on: the model reads that this one was stopped.
import { type ReactElement, useState } from 'react'
import { errorMessage } from '../lib/text/error-message.ts'
import { Problem } from './forms.tsx'
import type { CallView } from './view.ts'

export type StopCallProps = {
  call: CallView
  /** Such as `cancelCall` of `useSession`. Its error is shown. */
  onStop: (callId: string) => Promise<unknown>
}

/** Nothing, for a call that has its result or is not whole yet. */
export function StopCall({ call, onStop }: StopCallProps): ReactElement | null {
  const [problem, setProblem] = useState<string>()
  const [isAsked, setAsked] = useState(false)
  if (call.settledAt !== undefined || call.seq === undefined) return null
  const stop = (): void => {
    setProblem(undefined)
    setAsked(true)
    onStop(call.id)
      .catch((error: unknown) => setProblem(errorMessage(error)))
      .finally(() => setAsked(false))
  }
  return (
    <>
      <button
        type="button"
        className="tw-button tw-small tw-danger"
        title="The turn goes on without its result"
        disabled={isAsked}
        onClick={stop}
      >
        Stop this call
      </button>
      <Problem text={problem} />
    </>
  )
}
