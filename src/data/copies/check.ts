// Reads exported sessions from a file and refuses what is damaged: a file that was cut off, a line that is not the next one,
// a log that does not fold, a hash that differs. Nothing is written before the whole file has passed.
import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { HistoryFold } from '../../engine/index.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { linesIn } from '../../lib/text/lines.ts'
import { copyVersion, isLine, type LastLine, type Line } from './format.ts'

/** The largest event has the size of the largest result, several times over. */
const longestLine = 256 * 1024 * 1024

const notAnExport = 'this is no file of turnwire export'

/** The lines of a file as values. Throws a TurnwireError that names the file and the line. */
export async function* readLines(file: string): AsyncGenerator<{ text: string; line: Line; number: number }> {
  let number = 0
  try {
    for await (const text of linesIn(createReadStream(file), longestLine)) {
      number += 1
      const line: Json = JSON.parse(text)
      if (!isJsonObject(line)) throw new Error('it is not a JSON object')
      // Otherwise two readers that look at different members could take it for different lines.
      if (!isLine(line))
        throw new Error(
          number === 1 ? notAnExport : 'it has members that no line of an export has, or lacks some',
        )
      yield { text, line, number }
    }
  } catch (cause) {
    if (cause instanceof TurnwireError) throw cause
    throw damaged(file, number, wordsOf(cause))
  }
}

/** `line` and `why`: the first line that is not as it was written. */
export class DamagedFile extends TurnwireError {
  readonly line: number
  readonly why: string
  constructor(file: string, line: number, why: string) {
    super(
      'bad_request',
      `${file} cannot be imported: line ${line}: ${why}. Nothing was imported. Export the sessions again.`,
    )
    this.line = line
    this.why = why
  }
}

export function damaged(file: string, number: number, why: string): DamagedFile {
  return new DamagedFile(file, number, why)
}

/** A session of the file that is being read. */
class Checked {
  readonly id: string
  readonly events: number
  readonly hash: Hash = createHash('sha256')
  readonly fold: HistoryFold
  /** A blob whose last piece is still to come, and how much of it there is. */
  open: { blob: string; size: number } | undefined

  constructor(id: string, events: number) {
    this.id = id
    this.events = events
    this.fold = new HistoryFold(id)
  }

  take(line: Line): void {
    const { fold } = this
    if ('event' in line) {
      if (line.seq !== fold.state.seq + 1) throw new Error(`event ${fold.state.seq + 1} is missing`)
      if (line.seq === 1 && line.event.type !== 'session.created')
        throw new Error('the log does not begin with its creation')
      fold.take(line)
    } else if (fold.state.seq !== this.events) throw new Error(`event ${fold.state.seq + 1} is missing`)
    else if ('piece' in line) this.#takePiece(line)
    else if (!('body' in line) || typeof line.body !== 'string' || this.open)
      throw new Error('it is not the line that has to be here')
  }

  #takePiece({ blob, at, piece, last }: Extract<Line, { piece: string }>): void {
    const { size } = this.open?.blob === blob ? this.open : { size: 0 }
    if (at !== size || (this.open && this.open.blob !== blob))
      throw new Error(`a piece of "${blob}" is missing`)
    const more = Buffer.byteLength(piece, 'base64')
    this.open = last ? undefined : { blob, size: size + more }
  }

  end(sha256: string): void {
    if (this.fold.state.seq !== this.events || this.events === 0)
      throw new Error(`event ${this.fold.state.seq + 1} is missing`)
    if (this.open) throw new Error(`the end of "${this.open.blob}" is missing`)
    if (this.hash.digest('hex') !== sha256) throw new Error('the session was changed after it was exported')
    if (this.fold.state.status === 'running') throw new Error('the session is at work')
  }
}

/** Throws a TurnwireError if anything in the file is damaged. Gives the number of sessions. */
export async function checkFile(file: string): Promise<number> {
  let current: Checked | undefined
  let sessions = 0
  let payments = 0
  let number = 0
  let isOver = false
  const whole = createHash('sha256')
  for await (const read of readLines(file)) {
    number = read.number
    const { line, text } = read
    try {
      if (isOver) throw new Error('nothing may follow the last line')
      if (number === 1) checkFirst(line)
      else if ('sessions' in line && !current) {
        if (line.sessions !== sessions)
          throw new Error(`${line.sessions} sessions were exported, ${sessions} are here`)
        if (line.payments !== payments)
          throw new Error(`${line.payments} payments were exported, ${payments} are here`)
        checkLast(line, whole.digest('hex'))
        isOver = true
      } else if ('payment' in line && !current) {
        const { id, hash, payer } = line.payment
        if ([id, hash, payer].some(text => typeof text !== 'string')) throw new Error('it is no payment')
        payments += 1
      } else if ('session' in line && !current) {
        checkName(line.session)
        current = new Checked(line.session, line.events)
        current.hash.update(`${text}\n`)
      } else if (!current) throw new Error('it is not the line that has to be here')
      else if ('end' in line) {
        if (line.end !== current.id) throw new Error('it ends another session')
        current.end(line.sha256)
        current = undefined
        sessions += 1
      } else {
        current.take(line)
        current.hash.update(`${text}\n`)
      }
      if (!isOver) whole.update(`${text}\n`)
    } catch (cause) {
      throw damaged(file, number, wordsOf(cause))
    }
  }
  if (!isOver) throw damaged(file, number + 1, 'the end of the file is missing')
  return sessions
}

function checkFirst(line: Line): void {
  if (!('turnwire' in line) || line.turnwire !== 'export') throw new Error(notAnExport)
  if (line.version !== copyVersion)
    throw new Error(`it has version ${line.version}, and this program reads version ${copyVersion}`)
}

/** Files of older versions have no hash of the whole. */
function checkLast(line: LastLine, sha256: string): void {
  if (line.sha256 !== undefined && line.sha256 !== sha256)
    throw new Error('the file was changed after it was exported')
}

function checkName(session: unknown): void {
  if (typeof session !== 'string' || !/^[\w-]{1,200}$/.test(session))
    throw new Error('the id of the session is not one of ours')
}
