// The causes of failures that the engine writes to the log, by session, for the program that runs the engine itself. A
// client of a wire is told in general words; the program that runs the process may know the cause.
import type { PlainError } from '../engine/index.ts'
import { type ErrorCode, errorCodes } from '../language/errors.ts'
import type { Log } from '../log.ts'

const mostKept = 1000

export class LogFailures {
  readonly #last = new Map<string, PlainError>()

  /** A log that passes everything on and remembers the last failure of each session. */
  tap(log: Log): Log {
    return (level, message, fields) => {
      if (level === 'error') this.#remember(fields ?? {})
      log(level, message, fields)
    }
  }

  /** The cause of the last failure of a session. It is given once. */
  take(session: string): PlainError | undefined {
    const failure = this.#last.get(session)
    this.#last.delete(session)
    return failure
  }

  #remember({ session, code, error }: Parameters<Log>[2] & object): void {
    if (typeof session !== 'string' || typeof error !== 'string' || !isErrorCode(code)) return
    this.#last.delete(session)
    this.#last.set(session, { code, message: error })
    if (this.#last.size > mostKept) this.#last.delete(this.#last.keys().next().value ?? '')
  }
}

function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && Object.hasOwn(errorCodes, code)
}
