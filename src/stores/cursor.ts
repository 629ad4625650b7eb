// The cursor of a list page: the position where the page ended, signed together with the owner, so that a client can
// neither make one up nor use another owner's. It is not encrypted. A store whose positions are not unique adds the id
// of the last row.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { TurnwireError } from '../language/errors.ts'

const SIGNATURE_BYTES = 12
const SHAPE = /^([0-9a-z]{1,11})\.([A-Za-z0-9_-]{16})(?:\.([A-Za-z0-9_-]+))?$/

/** `id` is well-formed text. */
export function encodeCursor(secret: string, owner: string | null, position: number, id = ''): string {
  const cursor = `${position.toString(36)}.${sign(secret, owner, position, id).toString('base64url')}`
  return id === '' ? cursor : `${cursor}.${Buffer.from(id).toString('base64url')}`
}

/** The position and id of a cursor that `encodeCursor` made. Throws `bad_request` for any other text. */
export function decodeCursor(
  secret: string,
  owner: string | null,
  cursor: string,
): { position: number; id: string } {
  const match = SHAPE.exec(cursor)
  if (match !== null) {
    const position = Number.parseInt(match[1]!, 36)
    const id = Buffer.from(match[3] ?? '', 'base64url').toString()
    const given = Buffer.from(match[2]!, 'base64url')
    if (timingSafeEqual(given, sign(secret, owner, position, id))) return { position, id }
  }
  throw new TurnwireError(
    'bad_request',
    'The page cursor is not one that this server gave. Use the cursor of the page before, or none to start over.',
  )
}

/** Throws `bad_request` unless it is a whole number above zero. */
export function checkLimit(limit: number): void {
  if (Number.isSafeInteger(limit) && limit > 0) return
  throw new TurnwireError('bad_request', `A page holds at least one row: ${limit} is not a limit.`)
}

function sign(secret: string, owner: string | null, position: number, id: string): Buffer {
  return createHmac('sha256', secret)
    .update(JSON.stringify(id === '' ? [owner, position] : [owner, position, id]))
    .digest()
    .subarray(0, SIGNATURE_BYTES)
}
