// Something that may be refused: runs it, and gives the line that says why it was.
import { type ReactElement, useCallback, useState } from 'react'
import { printable } from '../../../src/lib/text/index.ts'

export type AttemptState = { attempt: (work: Promise<unknown>) => void; problem: ReactElement | null }

export function useAttempt(): AttemptState {
  const [words, setWords] = useState<string>()
  const attempt = useCallback((work: Promise<unknown>) => {
    setWords(undefined)
    work.catch((error: unknown) => setWords(error instanceof Error ? error.message : String(error)))
  }, [])
  return { attempt, problem: words === undefined ? null : <Problem words={words} /> }
}

export function Problem({ words }: { words: string }): ReactElement {
  return (
    <p role="alert" className="tw-problem">
      {printable(words, 600)}
    </p>
  )
}
