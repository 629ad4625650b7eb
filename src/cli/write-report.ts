// Writes a report beside the one that was printed, such as JUnit's for a build server.
import { writeFileSync } from 'node:fs'
import { wordsOf } from '../language/errors.ts'
import { printable } from '../lib/text/index.ts'
import { UsageError } from './command.ts'

export function writeReport(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw new UsageError(`${printable(file, 200)} cannot be written: ${wordsOf(error)}`)
  }
}
