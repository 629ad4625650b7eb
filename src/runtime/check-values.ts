// Checks of single settings of a configuration. `wrong` takes the setting's key and what to do.
import { wordsOf } from '../language/errors.ts'
import { inspectSchema } from '../lib/schema.ts'
import { describeSchema } from '../lib/standard-schema.ts'

type Wrong = (key: string, words: string) => void

export function checkAnswer(answer: unknown, key: string, wrong: Wrong): void {
  if (answer === undefined) return
  try {
    inspectSchema(describeSchema(answer).json)
  } catch (error) {
    wrong(key, wordsOf(error))
  }
}

export function checkCount(count: unknown, key: string, wrong: Wrong): void {
  if (count === undefined || (Number.isSafeInteger(count) && Number(count) > 0)) return
  wrong(key, 'must be a whole number above 0.')
}
