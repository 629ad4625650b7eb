// Where a page of found sessions ended: the value that they are ordered by, and what tells two with the same value apart. It
// grants nothing, so it is not signed: each page asks again for whose sessions they are.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'

export type Place = { key: number; position: number; id: string }

export function encodePlace(place: Place): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

/** Throws `bad_request` for a text that `encodePlace` did not make. */
export function decodePlace(text: string): Place {
  try {
    const place = JSON.parse(Buffer.from(text, 'base64url').toString()) as Json
    if (isJsonObject(place)) {
      const { key, position, id } = place
      if (typeof key === 'number' && typeof position === 'number' && typeof id === 'string')
        return { key, position, id }
    }
  } catch {}
  throw new TurnwireError(
    'bad_request',
    'The page cursor is not one that this server gave. Use the cursor of the page before, or none to start over.',
  )
}
