// Scripts from YAML or JSON. Reading is strict: an unknown key is refused rather than ignored, since a step that
// silently says less than was written makes a test that tests nothing.
import { readFileSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import * as z from 'zod'
import { outcomeKinds } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import { type ScriptDocument, wordsOf } from './script.ts'

const pattern = z.union([
  z.string(),
  z
    .strictObject({ pattern: z.string(), flags: z.string().optional() })
    .refine(value => compiles(value.pattern, value.flags), 'is not a valid regular expression'),
])
const yes = z.literal(true)
const count = z.number().int().nonnegative()
const native = z.strictObject({
  origin: z.strictObject({ protocol: z.string(), family: z.string() }),
  data: z.json(),
})
const call = z.strictObject({
  name: z.string().min(1),
  input: z.json().optional(),
  text: z.string().optional(),
  form: z.enum(['json', 'text']).optional(),
  id: z.string().optional(),
  cut: yes.optional(),
  native: native.optional(),
})
const expectation = z.strictObject({
  lastUser: pattern.optional(),
  tools: z.array(z.string()).optional(),
  results: z
    .array(
      z.strictObject({
        name: z.string().optional(),
        kind: z.enum(outcomeKinds).optional(),
        text: pattern.optional(),
      }),
    )
    .optional(),
})
const failure = z.strictObject({
  code: z.enum(['model_failed', 'model_rejected', 'model_timeout']),
  message: z.string(),
  after: count.optional(),
})
const usage = z.strictObject({
  input: count,
  output: count,
  cacheRead: count.optional(),
  cacheWrite: count.optional(),
  thinking: count.optional(),
  cost: z.number().nonnegative().optional(),
})
const step = z.strictObject({
  thinking: z.string().optional(),
  text: z.string().optional(),
  calls: z.array(call).optional(),
  stop: z.enum(['end', 'calls', 'length', 'refusal', 'filter', 'pause']).optional(),
  usage: usage.optional(),
  chunk: z.number().int().positive().optional(),
  delayMs: count.optional(),
  stepDelayMs: count.optional(),
  expect: expectation.optional(),
  fail: failure.optional(),
  hang: yes.optional(),
  reset: yes.optional(),
  native: native.optional(),
})
const document = z.strictObject({
  position: z.enum(['history', 'counter']).optional(),
  whenOver: z.enum(['repeat-last', 'end', 'fail']).optional(),
  steps: z.array(step).min(1),
})

/** Reads a file of steps. Throws `config_invalid`, which names the file, the step, the key and the remedy. */
export function scriptFromFile(path: string): ScriptDocument {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw refuse(path, `cannot be read (${wordsOf(error)}). Give the path of a YAML or JSON file`, error)
  }
  return parseScript(text, path)
}

/** The text is a list of steps, or an object with `steps` and, if need be, `position` and `whenOver`. */
export function parseScript(text: string, name = 'script'): ScriptDocument {
  const value = parseYaml(text, name)
  if (value === null) throw refuse(name, 'is empty. Write a list of steps, such as "- text: Hello"')
  const parsed = document.safeParse(Array.isArray(value) ? { steps: value } : value)
  if (parsed.success) return withoutAbsent(parsed.data)
  throw refuse(
    name,
    parsed.error.issues
      .slice(0, 5)
      .flatMap(issue => explain(issue))
      .join('; '),
  )
}

function parseYaml(text: string, name: string): unknown {
  const lines = new LineCounter()
  const parsed = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const error = parsed.errors[0]
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0])
    throw refuse(name, `line ${line}, column ${col}: ${error.message} Mend the YAML or JSON there`, error)
  }
  try {
    return parsed.toJS()
  } catch (cause) {
    throw refuse(name, `${wordsOf(cause)}. Write the repeated part out`, cause)
  }
}

/** Absent keys of parsed data may stand as undefined; a Step has no such keys. */
function withoutAbsent(data: z.infer<typeof document>): ScriptDocument {
  return JSON.parse(JSON.stringify(data)) as ScriptDocument // the schema above is the type, written for zod
}

type Issue = z.core.$ZodIssue

function explain(issue: Issue, at: readonly PropertyKey[] = []): string[] {
  const path = [...at, ...issue.path]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(
      key => `${placeOf([...path, key])}: unknown key. Known here: ${knownKeys(path).join(', ')}`,
    )
  if (issue.code === 'invalid_union') {
    // Of the alternatives the one that got furthest says best what is wrong.
    const nearest = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a))[0]?.[0]
    if (nearest !== undefined && depthOf([nearest]) > 0) return explain(nearest, path)
  }
  return [`${placeOf(path)}: ${issue.message}`]
}

function depthOf(issues: readonly Issue[]): number {
  const first = issues[0]
  if (first === undefined) return 0
  return first.path.length + (first.code === 'invalid_type' && first.path.length === 0 ? 0 : 1)
}

function placeOf(path: readonly PropertyKey[]): string {
  const inStep = path[0] === 'steps' && typeof path[1] === 'number'
  const rest = inStep ? path.slice(2) : path
  const key = rest
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`))
    .join('')
  const place = inStep ? `step ${Number(path[1]) + 1}` : 'the script'
  return key === '' ? place : `${place}, key "${key}"`
}

const shapes: readonly [RegExp, z.ZodObject][] = [
  [/^$/, document],
  [/^steps\.\d+$/, step],
  [/\.calls\.\d+$/, call],
  [/\.expect$/, expectation],
  [/\.fail$/, failure],
  [/\.usage$/, usage],
  [/\.native$/, native],
]

function knownKeys(path: readonly PropertyKey[]): string[] {
  const dotted = path.map(String).join('.')
  const found = shapes.find(([where]) => where.test(dotted))
  if (found !== undefined) return Object.keys(found[1].shape)
  if (/\.results\.\d+$/.test(dotted)) return ['name', 'kind', 'text']
  return dotted.endsWith('.origin') ? ['protocol', 'family'] : ['pattern', 'flags']
}

function compiles(source: string, flags: string | undefined): boolean {
  try {
    new RegExp(source, flags)
    return true
  } catch {
    return false
  }
}

function refuse(name: string, what: string, cause?: unknown): TurnwireError {
  return new TurnwireError('config_invalid', `${name}: ${what}.`, cause === undefined ? {} : { cause })
}
