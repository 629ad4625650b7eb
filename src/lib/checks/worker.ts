// The worker thread that does the checks which cost too much for the event loop. It has no clock: the pool ends the
// thread when its time is up.

import { serveJobs } from '../async/work-pool.ts'
import { compileGrammar, GrammarError } from '../grammar/index.ts'
import type { Json } from '../json/index.ts'
import { compileSchema, SchemaError } from '../schema/index.ts'
import type { CheckAnswer, CheckJob } from './jobs.ts'

function answer(job: CheckJob): CheckAnswer {
  try {
    if (job.kind === 'schema') {
      // Both texts were made from JSON values.
      const validator = compileSchema(JSON.parse(job.schema) as Json)
      return { issues: validator.check(JSON.parse(job.value), Number.POSITIVE_INFINITY) }
    }
    const grammar = compileGrammar(job.syntax, job.definition)
    return { mismatch: job.text === undefined ? null : grammar.match(job.text) }
  } catch (error) {
    if (error instanceof SchemaError || error instanceof GrammarError) return { unusable: error.message }
    throw error
  }
}

serveJobs(answer)
