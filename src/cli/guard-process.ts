// How a process that serves ends: by a signal, or by an error that nobody caught. After such an error the state of the
// process is unknown, so it ends soon: the error is logged, the command refuses new work, lets running calls finish and
// ends with a status of its own. Sessions go on at the next start. Expected errors are caught where they occur, not here.
import { errorMessage } from '../lib/text/error-message.ts'
import { type Log, mask } from '../log.ts'

/** The exit status after an error that nobody caught: EX_SOFTWARE. */
const faultStatus = 70
/** The most time for closing, beside the time of running calls. */
const closingMs = 15_000
/** Further errors while the process ends. The same timer may fail again and again. */
const mostLogged = 20

export type ProcessGuard = {
  /** Resolves when the process has to end. */
  readonly faulted: Promise<void>
  /** 0, unless an error was not caught. */
  readonly status: number
}

/** `graceMs`: how long running calls may take to finish. A process that has not ended some time after that is ended. */
export function guardProcess(log: Log, graceMs: number): ProcessGuard {
  const { promise: faulted, resolve } = Promise.withResolvers<void>()
  let count = 0
  const take = (error: unknown, origin: string): void => {
    count += 1
    if (count > mostLogged) return
    const fields = { origin, ...describeCrash(error) }
    if (count > 1) {
      log('error', 'Another error was not caught while the process ends.', fields)
      return
    }
    log(
      'error',
      'An error was not caught. No new work is taken, running calls may finish, then the process ends.',
      fields,
    )
    setTimeout(() => {
      log('error', 'The process did not end in good order, and is ended.')
      process.exit(faultStatus)
    }, graceMs + closingMs).unref()
    resolve()
  }
  process.on('uncaughtException', take)
  process.on('unhandledRejection', reason => take(reason, 'unhandledRejection'))
  return {
    faulted,
    get status() {
      return count > 0 ? faultStatus : 0
    },
  }
}

export function untilSignalled(): Promise<void> {
  return new Promise(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
  })
}

/** Its words and places, and nothing else that hangs on it: errors of the system carry whole environments. */
function describeCrash(error: unknown): { error: string; stack?: string } {
  const words = mask(errorMessage(error), secretsOfEnvironment())
  try {
    const stack = error instanceof Error ? error.stack : undefined
    if (typeof stack !== 'string') return { error: words }
    const places = stack.split('\n').filter(line => /^ {4}at /.test(line))
    return { error: words, stack: places.slice(0, 12).join('\n') }
  } catch {
    return { error: words }
  }
}

function* secretsOfEnvironment(): Iterable<string> {
  for (const [name, value = ''] of Object.entries(process.env))
    if (/key|token|secret|passw|credential/i.test(name) && value.length >= 6) yield value
}
