// Shared by the tests of field bugs: a scripted model that rejects every history that a vendor would reject, tools that
// count their runs, and a store that can be cut off as if the process had died.
import assert from 'node:assert/strict'
import type { Model, ModelRequest, Session, Store, Tool, ToolContext } from '../../src/engine/index.ts'
import { type ScriptStep as Step, scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'
import { makeRig, type Rig, type RigOptions } from '../engine/rig.ts'
import { wrongHistory } from '../sim/model.ts'

/** Every request is added to `requests`. */
export function strict(steps: readonly Step[], requests: ModelRequest[] = []): Model {
  const model = scripted(steps)
  return {
    ...model,
    respond(request, watch, signal) {
      assert.equal(wrongHistory(request.history), undefined)
      requests.push({ ...request, history: [...request.history] })
      return model.respond(request, watch, signal)
    },
  }
}

export type Counted = { tool: Tool; runs: { input: unknown; key: string; attempt: number }[] }

export function counted(name: string, over: Partial<Parameters<typeof tool>[0]> = {}): Counted {
  const runs: Counted['runs'] = []
  const run = (input: unknown, { idempotencyKey, attempt }: ToolContext): unknown => {
    runs.push({ input, key: idempotencyKey, attempt })
    return { parts: [{ type: 'text', text: `${name} ${JSON.stringify(input)}` }] }
  }
  const made = tool({ name, description: 'Counts its runs.', input: { type: 'object' }, run, ...over })
  return { tool: made, runs }
}

/** A store that `sever` cuts off: from then on no operation is done or answered. */
export function severable(store: Store): { store: Store; sever: () => void } {
  let cut = false
  const gone = new Promise<never>(() => {})
  const unlessCut = <T>(ask: () => Promise<T>): Promise<T> => (cut ? gone : ask())
  return {
    store: {
      ...store,
      create: session => unlessCut(() => store.create(session)),
      claim: (session, recovering) => unlessCut(() => store.claim(session, recovering)),
      append: batch => unlessCut(() => store.append(batch)),
      putBlob: (session, name, body) => unlessCut(() => store.putBlob(session, name, body)),
      addPiece: (session, name, piece) => unlessCut(() => store.addPiece(session, name, piece)),
    },
    sever: () => {
      cut = true
    },
  }
}

export function strictRig(steps: readonly Step[], over: RigOptions = {}): Rig & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  return { ...makeRig({ model: strict(steps, requests), ...over }), requests }
}

export function asking(session: Session): string[] {
  return session.state.batch.filter(call => call.stage === 'asking').map(call => call.part.id)
}

export function handed(session: Session): string[] {
  return session.state.batch.filter(call => call.stage === 'handed').map(call => call.part.id)
}

/** The result of a call, as the next request to the model has it. */
export function resultOf(
  request: ModelRequest | undefined,
  callId: string,
): { kind: string; text: string } | undefined {
  for (const entry of request?.history ?? []) {
    const found = entry.role === 'tool' && entry.results.find(result => result.callId === callId)
    if (!found) continue
    const text = found.outcome.parts.map(part => (part.type === 'text' ? part.text : part.url)).join('')
    return { kind: found.outcome.kind, text }
  }
  return undefined
}
