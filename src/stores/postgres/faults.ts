// Classifies the errors of PostgreSQL and of its connections: the error that the caller gets, and whether the statement
// may be tried again. Nothing in this file acts on it.
import { type ErrorCode, TurnwireError, wordsOf } from '../../language/errors.ts'

/**
 * `conflict`: nothing was written, and the same statement may succeed at once. `lost`: the connection or the server is
 * gone, and it is unknown what was written. `moved`: nothing was written, and the server takes no writes: another one may.
 * `failed`: nothing was written, because of the database. `refused`: nothing was written, because of the statement or its
 * values.
 */
export type FaultKind = 'conflict' | 'lost' | 'moved' | 'failed' | 'refused'

/** Thrown by everything that talks to the database. `state` is the SQLSTATE, or the code of the connection's error. */
export class DatabaseFault extends Error {
  readonly kind: FaultKind
  readonly state: string
  readonly error: TurnwireError

  constructor(kind: FaultKind, state: string, error: TurnwireError) {
    super(error.message)
    this.kind = kind
    this.state = state
    this.error = error
  }
}

type Meaning = [kind: FaultKind, code: ErrorCode, text: string]

const away =
  'The database cannot be reached. Check that it runs and that its address is right; then try again.'
const busy = 'The database is too busy. Try again.'
const full = 'The database is full. Free space, then try again.'
const readOnly = 'The database takes no writes: it is a standby, or read-only. Name its primary.'
const forbidden =
  'The database refuses this user or database. Check the address, the password and the rights.'

/** By SQLSTATE, else by its class. */
const meanings: Readonly<Record<string, Meaning>> = {
  '40001': ['conflict', 'store_failed', busy], // serialization_failure
  '40P01': ['conflict', 'store_failed', busy], // deadlock_detected
  '40003': ['lost', 'store_failed', away], // statement_completion_unknown
  '25006': ['moved', 'store_failed', readOnly], // read_only_sql_transaction
  '08': ['lost', 'store_failed', away],
  '57P': ['lost', 'store_failed', away], // shutdown, crash, starting up, dropped database
  '53100': ['failed', 'store_full', full],
  '53300': ['lost', 'store_failed', 'The database has no free connection. Raise its limit, or use fewer.'],
  '53': ['failed', 'store_failed', busy],
  '58': ['failed', 'store_failed', 'The disk of the database failed.'],
  XX: ['failed', 'store_failed', 'The database failed.'],
  '28': ['failed', 'store_failed', forbidden],
  '3D': ['failed', 'store_failed', forbidden],
  '42501': ['failed', 'store_failed', forbidden],
}

export function toDatabaseFault(thrown: unknown): DatabaseFault {
  if (thrown instanceof DatabaseFault) return thrown
  if (thrown instanceof TurnwireError) return new DatabaseFault('refused', '', thrown)
  const state = sqlState(thrown)
  // Codes of PostgreSQL have five characters. All others are of the connection.
  const meaning =
    state.length === 5
      ? (meanings[state] ?? meanings[state.slice(0, 3)] ?? meanings[state.slice(0, 2)])
      : connectionMeaning(state)
  const [kind, code, text] = meaning ?? ['refused', 'store_failed', 'The database refused the statement.']
  const words = `${text} (${state === '' ? '' : `${state}: `}${wordsOf(thrown)})`
  return new DatabaseFault(kind, state, new TurnwireError(code, words, { cause: thrown }))
}

function connectionMeaning(state: string): Meaning | undefined {
  if (['UNDEFINED_VALUE', 'MAX_PARAMETERS_EXCEEDED', 'NOT_TAGGED_CALL', ''].includes(state)) return undefined
  if (state.startsWith('SASL') || state.startsWith('AUTH')) return ['failed', 'store_failed', forbidden]
  return ['lost', 'store_failed', away]
}

function sqlState(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''
}
