// Something that may be refused: runs it, and gives the line that says why it was. The line goes when the server is back after it was
// away: what failed meanwhile may be tried again.
import { type ReactElement, useCallback, useState } from 'react'
import { errorMessage } from '../../../src/lib/text/error-message.ts'
import { Problem } from '../../../src/react/forms.tsx'
import { useReconnected } from '../../../src/react/use-reconnected.ts'
import { useConnection } from './console-state.tsx'

export type AttemptState = { attempt: (work: Promise<unknown>) => void; problem: ReactElement }

export function useAttempt(): AttemptState {
  const [words, setWords] = useState<string>()
  const attempt = useCallback((work: Promise<unknown>) => {
    setWords(undefined)
    work.catch((error: unknown) => setWords(errorMessage(error)))
  }, [])
  useReconnected(useConnection(), () => setWords(undefined))
  return { attempt, problem: <Problem text={words} /> }
}
