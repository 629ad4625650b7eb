// Checks of untrusted texts against untrusted schemas and grammars. A small check is done at once, on the event loop. A
// larger one goes to a worker thread, which is ended if it takes too long (`WorkPool`).

import { programBeside, WorkPool } from '../async/work-pool.ts'
import {
  GrammarError,
  type GrammarSyntax,
  grammarErrorOnLoop,
  type Mismatch,
  matchOnLoop,
} from '../grammar/index.ts'
import { sha256 } from '../json/hash.ts'
import type { Json } from '../json/index.ts'
import { compileSchema, SchemaError, type SchemaIssue } from '../schema/index.ts'
import type { CheckAnswer, CheckJob } from './jobs.ts'

/** Null: it fits. `refused`: the check did not finish. */
export type Checked<Problem> = Problem | null | { refused: string }
type Soon<T> = T | Promise<T>

let pool: WorkPool<CheckJob, CheckAnswer> | undefined

/** The program of the threads that do checks. */
export const checkProgram = programBeside(import.meta.url, 'worker')

/** All checks of a process share its threads. */
function sharedPool(): WorkPool<CheckJob, CheckAnswer> {
  pool ??= new WorkPool(checkProgram)
  return pool
}

export type SchemaChecker = {
  /** `text`: the value as JSON, in case the check goes to a thread. Throws or rejects with SchemaError. */
  check(value: unknown, text: string, owner: string): Soon<Checked<SchemaIssue[]>>
}

/** Throws SchemaError. The schema must not be changed afterwards. */
export function schemaChecker(schema: Json): SchemaChecker {
  const validator = compileSchema(schema)
  let schemaText: string | undefined
  return {
    check(value, text, owner) {
      const issues = validator.checkOnLoop(value, text)
      if (issues !== undefined) return issues
      schemaText ??= JSON.stringify(schema)
      return sharedPool()
        .run({ kind: 'schema', schema: schemaText, value: text }, owner)
        .then(answer => {
          if ('issues' in answer) return answer.issues
          if ('unusable' in answer) throw new SchemaError('', answer.unusable)
          return toRefusal(answer)
        })
    },
  }
}

/** Throws or rejects with GrammarError. */
export function checkGrammar(
  syntax: GrammarSyntax,
  definition: string,
  text: string,
  owner: string,
): Soon<Checked<Mismatch>> {
  const mismatch = matchOnLoop(syntax, definition, text)
  if (mismatch !== undefined) return mismatch
  return sharedPool()
    .run({ kind: 'grammar', syntax, definition, text }, owner)
    .then(answer => {
      if ('mismatch' in answer) return answer.mismatch
      if ('unusable' in answer) throw new UnusableGrammar(answer.unusable)
      return toRefusal(answer)
    })
}

const KEPT_VERDICTS = 2_048
/** Why a grammar cannot be used, null if it can, by the grammar's hash; the oldest first. */
const verdicts = new Map<string, string | null>()

/** Null: the grammar can be used. Undefined: the check costs too much for the event loop; see `judgeGrammar`. */
export function grammarProblem(syntax: GrammarSyntax, definition: string): string | null | undefined {
  const key = sha256(`${syntax} ${definition}`)
  const known = verdicts.get(key)
  if (known !== undefined) return known
  const error = grammarErrorOnLoop(syntax, definition)
  return error === undefined ? undefined : keepVerdict(key, error === null ? null : error.message)
}

/** Judges the grammar, so that `grammarProblem` knows it from then on. Undefined if it knows it already. */
export function judgeGrammar(
  syntax: GrammarSyntax,
  definition: string,
  owner: string,
): Promise<void> | undefined {
  if (grammarProblem(syntax, definition) !== undefined) return undefined
  return sharedPool()
    .run({ kind: 'grammar', syntax, definition }, owner)
    .then(answer => {
      const key = sha256(`${syntax} ${definition}`)
      if ('mismatch' in answer) keepVerdict(key, null)
      else if ('unusable' in answer) keepVerdict(key, answer.unusable)
      else keepVerdict(key, `compiling it ${toRefusal(answer).refused}`)
    })
}

function keepVerdict(key: string, problem: string | null): string | null {
  verdicts.set(key, problem)
  if (verdicts.size > KEPT_VERDICTS) verdicts.delete(verdicts.keys().next().value!)
  return problem
}

class UnusableGrammar extends GrammarError {
  constructor(message: string) {
    super('')
    this.message = message
  }
}

function toRefusal(answer: object): { refused: string } {
  return {
    refused: 'failed' in answer && typeof answer.failed === 'string' ? answer.failed : 'could not be done',
  }
}
