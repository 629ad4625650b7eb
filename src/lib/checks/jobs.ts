// What a check worker is asked, and what it answers. Everything is plain data and goes through a structured clone.

import type { GrammarSyntax } from '../grammar/index.ts'
import type { Mismatch } from '../grammar/mismatch.ts'
import type { SchemaIssue } from '../schema/issues.ts'

export type SchemaJob = { kind: 'schema'; schema: string; value: string }
/** Without a text it is found out only whether the grammar can be used. */
export type GrammarJob = { kind: 'grammar'; syntax: GrammarSyntax; definition: string; text?: string }
export type CheckJob = SchemaJob | GrammarJob

/** `unusable`: why the schema or grammar itself is bad. */
export type CheckAnswer =
  | { issues: SchemaIssue[] | null }
  | { mismatch: Mismatch | null }
  | { unusable: string }
