// How this protocol refuses a field: every refusal names the field and says what belongs there.
import { TurnwireError } from '../../language/errors.ts'
import { type FieldBound, type FieldType, fieldReader } from '../../lib/json/fields.ts'
import type { Json } from '../../lib/json/index.ts'

export function refuseAap(message: string): never {
  throw badRequest(message)
}

const badRequest = (message: string): TurnwireError => new TurnwireError('bad_request', message)

const expectations: Record<FieldType, string> = {
  object: 'an object',
  list: 'a list',
  text: 'a string',
  flag: 'true or false',
  number: 'a number',
  integer: 'a whole number',
}

const mustBe = (path: string, expected: FieldType): TurnwireError =>
  badRequest(`${path} must be ${expectations[expected]}.`)

function boundWords(bound: FieldBound): string {
  if (bound.bound === 'pattern') return 'must have no control characters'
  const unit = bound.of === 'number' ? '' : ' characters'
  return `must have ${bound.bound === 'most' ? 'at most' : 'at least'} ${bound.limit}${unit}`
}

export const { object, list, text, flag, optional } = fieldReader({
  missing: mustBe,
  wrongType: mustBe,
  notOneOf: (path, _given, supported) =>
    badRequest(`${path} must be one of: ${supported.map(word => `"${word}"`).join(', ')}.`),
  outOfRange: (path, bound) => badRequest(`${path} ${boundWords(bound)}.`),
  unknown: (path, name) => badRequest(`${path} has no field "${name}".`),
})

/** A name that a refusal may repeat, so it is bounded. */
export function boundedName(value: Json | undefined, path: string): string {
  return text(value, path, { max: 128 })
}

const longestId = 256

export function callIdField(value: Json | undefined, path: string): string {
  const id = text(value, path)
  if (id.length < 1 || id.length > longestId || /\p{Cc}/u.test(id))
    refuseAap(`${path} must have 1 to ${longestId} characters and no control characters.`)
  return id
}
