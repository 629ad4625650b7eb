// How OpenAI's APIs say that a parameter is wrong: the message, the path of the parameter and the code. Words only: the
// wires judge what is wrong, and the doubles judge it apart from them.

export type ParameterProblem = { message: string; param: string; code: string | null }

/** A bound that a text, a list or a number does not keep to. */
export type BrokenBound =
  | { bound: 'pattern'; pattern: RegExp }
  | { bound: 'least' | 'most'; of: 'text' | 'list' | 'number'; limit: number; given: number }

export function missingParameter(param: string): ParameterProblem {
  return { message: `Missing required parameter: '${param}'.`, param, code: 'missing_required_parameter' }
}

export function unknownParameter(param: string): ParameterProblem {
  return { message: `Unknown parameter: '${param}'.`, param, code: 'unknown_parameter' }
}

/** `expected` in the vendor's words, such as "an array". */
export function invalidType(param: string, expected: string, given: unknown): ParameterProblem {
  const message = `Invalid type for '${param}': expected ${expected}, but got ${describeKind(given)} instead.`
  return { message, param, code: 'invalid_type' }
}

export function unsupportedValue(
  param: string,
  given: unknown,
  supported: readonly string[],
  shorten = (text: string): string => text,
): ParameterProblem {
  const shown = typeof given === 'string' ? `'${shorten(given)}'` : shorten(JSON.stringify(given ?? null))
  const message = `Invalid value: ${shown}. Supported values are: ${quotedList(supported)}.`
  return { message, param, code: 'invalid_value' }
}

export function outOfBounds(param: string, broken: BrokenBound): ParameterProblem {
  const { problem, expected, code } = boundWords(broken)
  return { message: `Invalid '${param}': ${problem}. Expected ${expected}.`, param, code }
}

function boundWords(broken: BrokenBound): { problem: string; expected: string; code: string } {
  if (broken.bound === 'pattern')
    return {
      problem: 'string does not match pattern',
      expected: `a string that matches the pattern '${broken.pattern.source}'`,
      code: 'invalid_value',
    }
  const { bound, of, limit, given } = broken
  const isLeast = bound === 'least'
  if (of === 'number')
    return {
      problem: isLeast ? 'integer below minimum value' : 'integer above maximum value',
      expected: `a value ${isLeast ? '>=' : '<='} ${limit}, but got ${given} instead`,
      code: isLeast ? 'integer_below_min_value' : 'integer_above_max_value',
    }
  const [a, noun] = of === 'text' ? ['a', 'string'] : ['an', 'array']
  const got = given === 0 ? `an empty ${noun}` : `${a} ${noun} with length ${given}`
  return {
    problem: given === 0 ? `empty ${noun}` : `${noun} too ${isLeast ? 'short' : 'long'}`,
    expected: `${a} ${noun} with ${isLeast ? 'minimum' : 'maximum'} length ${limit}, but got ${got} instead`,
    code: given === 0 ? `empty_${noun}` : `${noun}_${isLeast ? 'below_min' : 'above_max'}_length`,
  }
}

function describeKind(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return `a ${typeof value}`
}

function quotedList(values: readonly string[]): string {
  const quoted = values.map(value => `'${value}'`)
  return quoted.length < 3 ? quoted.join(' and ') : `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
}
