// Tools that do everything a tool can do: answer at once or late, throw, hang, obey their signal or not. Each run is
// counted outside the engine, and first checks that it is allowed to run.
import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from '../../src/engine/ports/index.ts'
import { hashJson, sha256 } from '../../src/lib/json/hash.ts'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'
import { tool } from '../../src/tools/index.ts'
import type { Chance } from './chance.ts'
import type { Disk } from './disk.ts'
import type { Machine, Scheduler } from './scheduler.ts'
import type { Trace } from './trace.ts'

const numbered: JsonObject = {
  type: 'object',
  properties: { n: { type: 'integer' } },
  required: ['n'],
  additionalProperties: false,
}
const declared = { description: 'A tool of the simulation.', input: numbered, run: () => '' } as const

/** Declared once: compiling a schema for each seed would take longer than the seed. */
export const declarations: readonly Tool[] = [
  tool({ ...declared, name: 'look', readOnly: true, trust: 'trusted', retries: 1, timeoutMs: 300 }),
  tool({ ...declared, name: 'put', idempotent: true, trust: 'trusted', retries: 2, timeoutMs: 250 }),
  tool({ ...declared, name: 'pay', trust: 'trusted', timeoutMs: 400 }),
  tool({ ...declared, name: 'inner', trust: 'trusted', exposed: false, timeoutMs: 200, outputLimit: 256 }),
  tool({ ...declared, name: 'mail', trust: 'ask', timeoutMs: 350 }),
  tool({ ...declared, name: 'sync', trust: 'ask', idempotent: true, retries: 1, timeoutMs: 300 }),
  tool({ ...declared, name: 'note', trust: 'ask', input: 'text', timeoutMs: 200 }),
  tool({ ...declared, name: 'never', trust: 'deny' }),
]

export type Effects = Map<string, { tool: string; runs: number; keys: Set<string>; done: number }>

export type ToolParts = {
  scheduler: Scheduler
  chance: Chance
  trace: Trace
  disk: Disk
  effects: Effects
  /** When true, all tools answer at once and succeed. */
  calm: () => boolean
}

export function toolsOf(machine: Machine, parts: ToolParts): Tool[] {
  return declarations.map(each => ({
    ...each,
    run: (input, context) => {
      // A dead process does nothing.
      if (!machine.alive) return new Promise<never>(() => {})
      begin(each, input, context, machine, parts)
      return behave(each, context, machine, parts)
    },
  }))
}

/** Checks from inside the tool that this run was allowed and that its intent is durable. */
function begin(own: Tool, input: Json, context: ToolContext, machine: Machine, parts: ToolParts): void {
  const { trace, disk, effects } = parts
  const { callId } = context
  trace.note(`run ${machine.name} ${own.name} ${callId} attempt ${context.attempt}`)
  const call = disk.shadows.get(context.session)?.rules.calls.get(callId)
  if (!call || call.attempt === 0) {
    trace.breach(`${callId} runs without a durable intent`)
    return
  }
  trace.check(call.part.name === own.name, `${callId} runs as another tool`)
  trace.check(callId === context.idempotencyKey, `${callId} runs under another key`)
  trace.check(call.attempt >= context.attempt, `${callId} runs an attempt that is not durable`)
  const argsHash = typeof input === 'string' ? sha256(input) : hashJson(input)
  trace.check(call.argsHash === argsHash, `${callId} runs with other arguments than were allowed`)
  trace.check(call.authority !== undefined, `${callId} runs without authority`)
  trace.check(
    call.stage === 'started' || call.settledIn !== call.startedIn[context.attempt],
    `${callId} runs after its own writer had settled it as ${call.outcome?.kind}`,
  )
  const effect = effects.get(callId) ?? { tool: own.name, runs: 0, keys: new Set<string>(), done: 0 }
  effects.set(callId, effect)
  effect.runs += 1
  effect.keys.add(context.idempotencyKey)
  trace.check(effect.keys.size === 1, `${callId} ran under two keys`)
  if (!own.readOnly && !own.idempotent) trace.check(effect.runs === 1, `${callId} ran ${effect.runs} times`)
}

type Behaviour =
  | 'at-once'
  | 'later'
  | 'throw'
  | 'reject'
  | 'refuse'
  | 'hang'
  | 'deaf'
  | 'failed'
  | 'large'
  | 'nothing'

const weights: Record<Behaviour, number> = {
  'at-once': 6,
  later: 10,
  throw: 2,
  reject: 3,
  refuse: 1,
  hang: 2,
  deaf: 2,
  failed: 2,
  large: 1,
  nothing: 1,
}

function behave(
  own: Tool,
  context: ToolContext,
  machine: Machine,
  parts: ToolParts,
): Promise<ToolOutput> | ToolOutput {
  const { chance, scheduler, effects } = parts
  const effect = effects.get(context.callId)
  const finished = (words: string, failed = false): ToolOutput => {
    if (effect) effect.done += 1
    return { parts: [{ type: 'text', text: words }], ...(failed && { failed }) }
  }
  const wait = (): Promise<void> => scheduler.sleep(chance.whole(1, 80), machine)
  switch (parts.calm() ? 'at-once' : chance.weighted(weights)) {
    case 'at-once':
      return finished(`${own.name} is done`)
    case 'later':
      if (chance.maybe(0.3)) context.progress({ output: 'so far ' })
      return wait().then(() => finished(`${own.name} is done later`))
    case 'throw':
      throw new Error(`${own.name} throws`)
    case 'reject':
      return wait().then(() => Promise.reject(new Error(`${own.name} rejects`)))
    case 'refuse':
      if (effect) effect.runs -= 1
      throw new InvalidInput(`${own.name} does not like it`)
    case 'hang':
      return new Promise((_resolve, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason as Error), { once: true })
      })
    case 'deaf':
      return scheduler.sleep(chance.whole(100, 2000), machine).then(() => finished('too late'))
    case 'failed':
      return finished('it did not work', true)
    case 'large':
      return finished('x'.repeat(1200))
    case 'nothing':
      return { parts: [] }
  }
}
