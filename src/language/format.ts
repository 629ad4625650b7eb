// The form that a caller wants the text of an answer to have.
import type { JsonObject } from '../lib/json/index.ts'

export type AnswerFormat =
  /** Any JSON object. */
  | { type: 'json' }
  /**
   * JSON that matches a schema. `strict`: an answer that does not match is an error, so it is checked here unless the
   * vendor guarantees it. Otherwise the schema is told to the vendor in its own way, and the model may stray from it.
   */
  | { type: 'schema'; schema: JsonObject; name?: string; description?: string; strict?: boolean }
