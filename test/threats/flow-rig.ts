// A conversation that is written by hand, and the gate's judgement of the next call in it. Nothing runs.
import type { FlowLog } from '../../src/engine/ports/flow.ts'
import type { CallPart, CallResult, Outcome } from '../../src/language/calls.ts'
import type { CallFlow, FlowLabels } from '../../src/language/flow.ts'
import type { Entry } from '../../src/language/history.ts'
import type { ToolDeclaration } from '../../src/language/tools.ts'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'
import { createFlow, type FlowSettings } from '../../src/policy/flow/index.ts'

export function declare(
  name: string,
  flow: FlowLabels | undefined,
  { readOnly = false, schema = {} }: { readOnly?: boolean; schema?: JsonObject } = {},
): ToolDeclaration {
  return {
    name,
    description: name,
    input: { form: 'json', schema: { type: 'object', ...schema } },
    kind: 'other',
    readOnly,
    idempotent: readOnly,
    destructive: !readOnly,
    side: 'server',
    ...(flow && { flow }),
  }
}

let ids = 0

export function makeCall(
  name: string,
  input: Json,
  result: Json,
  more: Partial<Outcome> = {},
): { call: CallPart; result: CallResult } {
  ids += 1
  const id = `call_${ids}`
  const text = typeof result === 'string' ? result : JSON.stringify(result)
  const outcome: Outcome = {
    kind: 'ok',
    parts: [{ type: 'text', text }],
    from: { source: 'tool', tool: name },
    ...(typeof result !== 'string' && { structured: result }),
    ...more,
  }
  const call: CallPart = { type: 'call', id, name, form: 'json', text: JSON.stringify(input) }
  return { call, result: { callId: id, name, outcome } }
}

export class Talk {
  readonly entries: Entry[] = []
  readonly memory: FlowLog['memory'] = {}
  readonly #tools: ReadonlyMap<string, ToolDeclaration>
  readonly #settings: FlowSettings

  constructor(tools: readonly ToolDeclaration[], settings: FlowSettings = {}) {
    this.#tools = new Map(tools.map(tool => [tool.name, tool]))
    this.#settings = settings
  }

  user(text: string): this {
    this.entries.push({ role: 'user', parts: [{ type: 'text', text }] })
    return this
  }

  call(name: string, input: Json, result: Json, more: Partial<Outcome> = {}): this {
    const made = makeCall(name, input, result, more)
    this.entries.push({ role: 'assistant', parts: [made.call] }, { role: 'tool', results: [made.result] })
    return this
  }

  judge(name: string, input: Json, more: Partial<FlowLog> = {}): CallFlow | undefined {
    const { insiders = [] } = this.#settings
    const judge = createFlow(this.#settings, {
      isInsider: tool => insiders.includes(tool),
      isUnguarded: () => false,
      findEarlier: () => undefined,
      hide: text => text,
    })
    const { entries, memory } = this
    const find = (tool: string): ToolDeclaration | undefined => this.#tools.get(tool)
    const tool = find(name)
    if (!tool) throw new Error(`There is no tool ${name}.`)
    return judge?.(tool, input, {
      entries,
      view: entries,
      nested: [],
      find,
      isHidden: false,
      memory,
      ...more,
    })
  }

  /** The arguments without a warrant. */
  missing(name: string, input: Json, more: Partial<FlowLog> = {}): string[] {
    const { facts = [], warranted = true } = this.judge(name, input, more) ?? {}
    const found = facts.filter(fact => !fact.warranted).map(({ argument }) => argument)
    if (warranted !== (found.length === 0)) throw new Error('The verdict and its facts differ.')
    return found
  }
}
