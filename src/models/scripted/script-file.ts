// Scripts from YAML or JSON. Reading is strict: an unknown key is an error, because a test whose step is silently cut
// tests nothing.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'
import type * as z from 'zod'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { ScriptDocument } from './script.ts'
import { type Shape, scriptShape } from './script-shape.ts'

/** Reads a file of steps. Throws `config_invalid`, which names the file, the step, the key and the remedy. */
export function scriptFromFile(path: string): ScriptDocument {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw scriptError(path, `cannot be read (${wordsOf(error)}). Give the path of a YAML or JSON file`, error)
  }
  return parseScript(text, path)
}

/** The text is a list of steps, or an object with `steps` and, if need be, `position` and `whenOver`. */
export function parseScript(text: string, name = 'script'): ScriptDocument {
  const value = parseYaml(text, name)
  if (value === null) throw scriptError(name, 'is empty. Write a list of steps, such as "- text: Hello"')
  const parsed = scriptShape().document.safeParse(Array.isArray(value) ? { steps: value } : value)
  if (parsed.success) return withoutAbsent(parsed.data)
  throw scriptError(
    name,
    parsed.error.issues
      .slice(0, 5)
      .flatMap(issue => explain(issue))
      .join('; '),
  )
}

function parseYaml(text: string, name: string): unknown {
  // Loaded with the first script, as zod is in script-shape.ts.
  const { LineCounter, parseDocument } = createRequire(import.meta.url)('yaml') as typeof Yaml
  const lines = new LineCounter()
  const parsed = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const error = parsed.errors[0]
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0])
    throw scriptError(
      name,
      `line ${line}, column ${col}: ${error.message} Mend the YAML or JSON there`,
      error,
    )
  }
  try {
    return parsed.toJS()
  } catch (cause) {
    throw scriptError(name, `${wordsOf(cause)}. Write the repeated part out`, cause)
  }
}

/** Zod may leave absent keys as undefined; a step has no such keys. */
function withoutAbsent(data: z.infer<Shape['document']>): ScriptDocument {
  return JSON.parse(JSON.stringify(data)) as ScriptDocument // the shape is the type, written for zod
}

type Issue = z.core.$ZodIssue

function explain(issue: Issue, at: readonly PropertyKey[] = []): string[] {
  const path = [...at, ...issue.path]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map(
      key => `${describePath([...path, key])}: unknown key. Known here: ${knownKeys(path).join(', ')}`,
    )
  if (issue.code === 'invalid_union') {
    // The alternative that got furthest explains the mistake best.
    const nearest = issue.errors.toSorted((a, b) => issueDepth(b) - issueDepth(a))[0]?.[0]
    if (nearest !== undefined && issueDepth([nearest]) > 0) return explain(nearest, path)
  }
  return [`${describePath(path)}: ${issue.message}`]
}

function issueDepth(issues: readonly Issue[]): number {
  const first = issues[0]
  if (first === undefined) return 0
  return first.path.length + (first.code === 'invalid_type' && first.path.length === 0 ? 0 : 1)
}

function describePath(path: readonly PropertyKey[]): string {
  const inStep = path[0] === 'steps' && typeof path[1] === 'number'
  const rest = inStep ? path.slice(2) : path
  const key = rest
    .map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`))
    .join('')
  const place = inStep ? `step ${Number(path[1]) + 1}` : 'the script'
  return key === '' ? place : `${place}, key "${key}"`
}

function knownKeys(path: readonly PropertyKey[]): string[] {
  const dotted = path.map(String).join('.')
  const found = scriptShape().places.find(([where]) => where.test(dotted))
  if (found !== undefined) return Object.keys(found[1].shape)
  if (/\.results\.\d+$/.test(dotted)) return ['name', 'kind', 'text']
  return dotted.endsWith('.origin') ? ['protocol', 'family'] : ['pattern', 'flags']
}

function scriptError(name: string, what: string, cause?: unknown): TurnwireError {
  return new TurnwireError('config_invalid', `${name}: ${what}.`, cause === undefined ? {} : { cause })
}
