// Operations of an API that come after a call: one that says what became of it, and one that undoes it. Their places are filled from
// the call: its arguments, its result (`result.id`), its key (`call.key`), its id and its reference.
import type {
  ReconcileAnswer,
  ReconcileContext,
  Tool,
  ToolContext,
  ToolOutput,
} from '../../engine/ports/index.ts'
import type { Outcome } from '../../language/calls.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { type Operation, runOperation } from './operation.ts'

/** `values`: by the name of a place of the operation, where its value comes from. Default: the name itself. */
export type AfterOperation = { operation: Operation; values: Readonly<Record<string, string>> }

type Known = { input: JsonObject; call: JsonObject; result?: Json | undefined }

/** `a.b` of an argument, `result.a`, `call.key`. A name without a source is looked for in the arguments, then in the result. */
function findValue(known: Known, name: string): Json | undefined {
  const [source = '', ...path] = name.split('.')
  if (source === 'call') return valueAt(known.call, path)
  if (source === 'result') return valueAt(known.result, path)
  const argument = valueAt(known.input, [source, ...path])
  return argument === undefined ? valueAt(known.result, [source, ...path]) : argument
}

function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  let at = value
  for (const name of path) at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  return at
}

function fill({ operation, values }: AfterOperation, known: Known): JsonObject {
  const names = operation.places.map(({ name }) => name)
  const body = operation.body?.from
  const wanted = new Set([
    ...names,
    ...Object.keys(values),
    ...(typeof body === 'object' ? [body.argument] : []),
  ])
  const filled: JsonObject = {}
  for (const name of wanted) {
    const value = findValue(known, values[name] ?? name)
    if (value !== undefined) filled[name] = value
  }
  return filled
}

function describeCall(callId: string, key: string, reference: string | undefined): JsonObject {
  return { id: callId, key, ...(reference !== undefined && { reference }) }
}

/** 2xx: it ran, with this answer. 404 and 410: it did not. Anything else is not known. */
export function reconcileWith(after: AfterOperation): NonNullable<Tool['reconcile']> {
  return async (input, context): Promise<ReconcileAnswer> => {
    const { callId, key, reference } = context
    const known = { input: isJsonObject(input) ? input : {}, call: describeCall(callId, key, reference) }
    let status = 0
    const output = await runOperation(after.operation, fill(after, known), asToolContext(context), got => {
      status = got
    })
    if (status >= 200 && status < 300) return { ran: output }
    return status === 404 || status === 410 ? 'did-not-run' : 'unknown'
  }
}

export function undoWith(after: AfterOperation): NonNullable<Tool['undo']> {
  const { method } = after.operation
  return {
    idempotent: method === 'DELETE' || method === 'PUT' || after.operation.idempotencyHeader !== undefined,
    run: (input: Json, outcome: Outcome, context): Promise<ToolOutput> => {
      const { undoes } = context
      const known = {
        input: isJsonObject(input) ? input : {},
        call: describeCall(undoes, undoes, undefined),
        result: outcome.structured,
      }
      return runOperation(after.operation, fill(after, known), context)
    },
  }
}

/** A request needs no more of it than a question has. */
function asToolContext(context: ReconcileContext): ToolContext {
  const { key: idempotencyKey, session, owner, callId, signal, app, options, trace } = context
  const fetch = context.fetch.bind(context)
  const asked = { session, owner, callId, signal, app, options, trace, idempotencyKey, fetch }
  return asked as unknown as ToolContext // Credentials are given the session, its owner and its options.
}
