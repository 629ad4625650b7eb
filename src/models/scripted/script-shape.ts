// The schema of a script file, and its objects by path for error messages.
import type { z } from 'zod'
import { outcomeKinds } from '../../language/calls.ts'
import { lazySchemas, type Zod } from '../../lib/schema/lazy.ts'

export type Shape = ReturnType<typeof makeShape>

export const scriptShape = lazySchemas(makeShape)

function makeShape(z: Zod) {
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
    code: z.enum(['model_failed', 'model_limited', 'model_rejected', 'model_timeout']),
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
  /** The objects of a script by their path in it. */
  const places: readonly [RegExp, z.ZodObject][] = [
    [/^$/, document],
    [/^steps\.\d+$/, step],
    [/\.calls\.\d+$/, call],
    [/\.expect$/, expectation],
    [/\.fail$/, failure],
    [/\.usage$/, usage],
    [/\.native$/, native],
  ]
  return { document, places }
}

function compiles(source: string, flags: string | undefined): boolean {
  try {
    new RegExp(source, flags)
    return true
  } catch {
    return false
  }
}
