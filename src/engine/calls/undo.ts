// The tools that undo calls of other tools: for each tool with `undo` one of its own, which only a person's command calls. So an undo
// passes the gate as any call does: rules apply to its name, people are asked, its intent is durable, and the model reads its result.
import { type Outcome, undoName } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject, parseJson } from '../../lib/json/index.ts'
import {
  InvalidInput,
  type Tool,
  type ToolContext,
  type ToolOutput,
  type UndoContext,
} from '../ports/index.ts'
import type { SessionState } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'
import { engineTool } from './engine-tool.ts'
import { readInput, readSettled, whyUnsettled } from './reconcile.ts'

/** `text`: the arguments of the call that undoes it, which the person who is asked is shown. */
export type Undoable = { callId: string; tool: Tool; text: string }

/** Rejects if the call cannot be undone. */
export async function findUndoable(session: CallSession, callId: string): Promise<Undoable> {
  const settled = await readSettled(session, callId)
  if (!settled) throw notSettled(session.state, callId)
  const { call, outcome } = settled
  const tool = undoingTool(session, call.part.name)
  checkRan(callId, effectiveOutcome(session.state, callId, outcome))
  const shown = call.part.form === 'json' ? parseJson(call.text) : call.text
  return { callId, tool, text: JSON.stringify({ call: callId, input: shown }) }
}

/** The outcome that counts: what was found out later, if it was not known at first. */
function effectiveOutcome({ reconciled }: SessionState, callId: string, outcome: Outcome): Outcome {
  return reconciled?.[callId]?.outcome ?? outcome
}

function checkRan(callId: string, { kind, from }: Outcome): void {
  if (kind === 'ok' || (kind === 'error' && from.source === 'tool')) return
  const isUnclear = kind === 'unknown' || kind === 'timeout' || kind === 'cancelled'
  throw new TurnwireError(
    'bad_request',
    isUnclear
      ? `It is not known whether the call "${callId}" took effect. Have it checked first.`
      : `The call "${callId}" took no effect: there is nothing to undo.`,
  )
}

function undoingTool({ offer }: CallSession, name: string): Tool {
  const offered = offer.byName.get(name)
  if (offered?.side === 'server' && offered.tool.undo) return offered.tool
  throw new TurnwireError('bad_request', `Calls of the tool "${name}" cannot be undone: it has no "undo".`)
}

function notSettled(state: SessionState, callId: string): TurnwireError {
  const words = `The call "${callId}" was made before this session: it cannot be undone.`
  return whyUnsettled(state, callId) ?? new TurnwireError('bad_request', words)
}

// ---- the tool --------------------------------------------------------------------------------------------------

/** When a session is opened in the middle of an undo. */
export function offerUndo(session: CallSession): void {
  const call = session.state.batch.find(({ parent }) => parent === undefined)
  const name = call?.part.name
  for (const { tool, side } of session.offer.byName.values())
    if (side === 'server' && tool.undo && undoName(tool.name) === name) addUndoTool(session, tool)
}

/** Rejects if a tool of the agent has its name. */
export function addUndoTool(session: CallSession, undone: Tool): string {
  const name = undoName(undone.name)
  session.addTool(name, () => undoTool(session, undone))
  const offered = session.offer.byName.get(name)
  if (offered?.side === 'server' && offered.tool.callers?.length === 0) return name
  throw new TurnwireError(
    'tool_name_conflict',
    `Calls of "${undone.name}" cannot be undone: another tool is named "${name}". Rename that tool.`,
  )
}

const schema: JsonObject = {
  type: 'object',
  properties: {
    call: { type: 'string', description: 'The id of the call that is undone.' },
    input: { description: 'The arguments of that call.' },
  },
  required: ['call', 'input'],
  additionalProperties: false,
}

function undoTool(session: CallSession, undone: Tool): Tool {
  const { name, title, server, trust, timeoutMs, outputLimit, destructive } = undone
  return engineTool({
    name: undoName(name),
    title: `Undo: ${title ?? name}`,
    description: `Undoes a call of the tool "${name}".`,
    input: { form: 'json', schema },
    kind: 'other',
    readOnly: false,
    idempotent: undone.undo?.idempotent === true,
    destructive,
    callers: [],
    trust,
    timeoutMs,
    outputLimit,
    ...(server !== undefined && { server }),
    run: (input, context) => undo(session, input, context),
  })
}

/** The exact arguments are in the log. Those of this call are for the person who was asked, and cannot be changed. */
async function undo(session: CallSession, input: Json, context: ToolContext): Promise<ToolOutput> {
  const callId = session.state.turn?.ask?.undoes
  const settled = callId === undefined ? undefined : await readSettled(session, callId)
  if (!settled || callId === undefined) throw new InvalidInput('Only a person may have a call undone.')
  const { call, outcome } = settled
  const tool = undoingTool(session, call.part.name)
  const shown = call.part.form === 'json' ? parseJson(call.text) : call.text
  if (!isJsonObject(input) || canonicalJson(input) !== canonicalJson({ call: callId, input: shown }))
    throw new InvalidInput(
      'The arguments of an undo are those of the call that is undone. They cannot be changed.',
    )
  const exact = await readInput(session, call, tool)
  session.ports.world.crashPoint?.('undo-run')
  return tool.undo!.run(exact, effectiveOutcome(session.state, callId, outcome), undoContext(context, callId))
}

/** The members of a context are getters of its class. */
function undoContext(context: ToolContext, undoes: string): UndoContext {
  return new Proxy(context as UndoContext, {
    get: (target, member) => (member === 'undoes' ? undoes : Reflect.get(target, member, target)),
  })
}
