// The jobs and answers of a check worker. All of them are plain data that goes through a structured clone.

import type { GrammarSyntax } from '../grammar/index.ts'
import type { Mismatch } from '../grammar/mismatch.ts'
import type { SchemaIssue } from '../schema/issues.ts'

export type SchemaJob = { kind: 'schema'; schema: string; value: string }
/** Without a text the job only checks whether the grammar can be used. */
export type GrammarJob = { kind: 'grammar'; syntax: GrammarSyntax; definition: string; text?: string }
export type CheckJob = SchemaJob | GrammarJob

/** `unusable`: why the schema or grammar itself is bad. */
export type CheckAnswer =
  | { issues: SchemaIssue[] | null }
  | { mismatch: Mismatch | null }
  | { unusable: string }
