// The functions of a tool that come after its run: `reconcile`, which says what became of a call, and `undo`. They take the input that
// `run` takes, and their values are turned into outputs as those of `run` are.
import type {
  ReconcileAnswer,
  ReconcileContext,
  Tool,
  ToolOutput,
  UndoContext,
} from '../../engine/ports/index.ts'
import type { Outcome } from '../../language/calls.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import type { SchemaDescription } from '../../lib/schema/standard.ts'
import { quote } from '../../lib/text/index.ts'
import { toOutput } from './return-value.ts'
import { refuseTool } from './tool-settings.ts'

/** `ran`: a value as `run` returns it. */
export type Reconciled<Value = unknown> = { readonly ran: Value } | 'did-not-run' | 'unknown'

type UndoRun<Input> = (input: Input, outcome: Outcome, context: UndoContext) => unknown
/** `idempotent`: after a crash it may run again. */
export type Undo<Input> = UndoRun<Input> | { readonly run: UndoRun<Input>; readonly idempotent?: boolean }

export type Afterwards<Input, Value> = {
  /**
   * Says what became of a call of which it is not known whether it took effect: `{ ran: value }`, `'did-not-run'` or `'unknown'`.
   * It is asked before such a call is settled, and again when a person or the model wants to know. It must change nothing.
   * `did-not-run` means that the call will take no effect later either.
   */
  reconcile?: (input: Input, context: ReconcileContext) => Reconciled<Value> | Promise<Reconciled<Value>>
  /** Undoes a call. People are offered it; it passes the gate as a call of its own, of the tool `undo_<name>`. */
  undo?: Undo<Input>
}

type Refine = SchemaDescription['refine']
type Made = { name: string; hasOutput: boolean; refine: Refine | undefined }

/** The gate has checked the value; the schema library's own check applies its transforms. */
async function refined<Input>(value: Json, refine: Refine | undefined): Promise<Input> {
  if (refine === undefined) return value as Input // It passed the schema.
  const result = await refine(value)
  if ('issues' in result) throw new Error('The arguments of the call do not pass the schema any more.')
  return result.value as Input // As above.
}

export function makeAfterwards<Input>(
  { reconcile, undo }: Afterwards<Input, unknown>,
  made: Made,
): Pick<Tool, 'reconcile' | 'undo'> {
  const { name, hasOutput, refine } = made
  const run = typeof undo === 'function' ? undo : undo?.run
  checkFunctions(name, { reconcile, undo, run })
  return {
    ...(reconcile && {
      reconcile: async (value: Json, context: ReconcileContext) =>
        toAnswer(await reconcile(await refined<Input>(value, refine), context), name, hasOutput),
    }),
    ...(run && {
      undo: Object.freeze({
        run: async (value: Json, outcome: Outcome, context: UndoContext): Promise<ToolOutput> =>
          // What an undo returns is another thing than what the tool returns.
          toOutput(await run(await refined<Input>(value, refine), outcome, context), name, false),
        idempotent: typeof undo === 'object' && undo.idempotent === true,
      }),
    }),
  }
}

function toAnswer(answer: unknown, name: string, hasOutput: boolean): ReconcileAnswer {
  if (answer === 'did-not-run' || answer === 'unknown') return answer
  if (isJsonObject(answer) && Object.hasOwn(answer, 'ran'))
    return { ran: toOutput(answer['ran'], name, hasOutput) }
  throw new TypeError(
    `"reconcile" of the tool "${name}" returned ${quote(answer)}; it is { ran: value }, 'did-not-run' or 'unknown'.`,
  )
}

/** JavaScript can pass anything. */
function checkFunctions(name: string, given: { reconcile?: unknown; undo?: unknown; run?: unknown }): void {
  const { reconcile, undo, run } = given
  if (reconcile !== undefined && typeof reconcile !== 'function')
    refuseTool(name, 'has a "reconcile" that is not a function')
  if (undo !== undefined && typeof run !== 'function')
    refuseTool(name, 'has an "undo" that is neither a function nor { run, idempotent }')
}
