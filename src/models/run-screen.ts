// What a caller demands of an answer, kept even where the vendor does not keep it: no call that the tool choice forbids, a
// call where one is demanded, and text in the form that was asked for. A forbidden call is never shown. Text that might
// have to be taken back is held until it has been judged, since some readers cannot take anything back.

import type { ModelAnswer, ModelDelta, ModelRequest } from '../engine/ports.ts'
import { textOf } from '../language/content.ts'
import type { AnswerFormat } from '../language/format.ts'
import type { Entry } from '../language/history.ts'
import { hostedApproval, type ToolChoice } from '../language/tools.ts'
import { schemaChecker } from '../lib/checks/index.ts'
import { isJsonObject, parseJson } from '../lib/json.ts'
import { SchemaError } from '../lib/schema.ts'
import { printable } from '../lib/text.ts'
import type { ModelPart } from './common/answer.ts'

/** `problem`: why the answer cannot be used, in words for the model. */
export type Judged = { answer: ModelAnswer } | { problem: string }

export type Screen = {
  watch(delta: ModelDelta): void
  judge(answer: ModelAnswer): Judged | Promise<Judged>
}

/** Undefined: nothing is demanded that the vendor does not see to. */
export function screenFor(
  request: Pick<ModelRequest, 'choice' | 'tools' | 'session'>,
  unchecked: AnswerFormat | undefined,
  watch: (delta: ModelDelta) => void,
): Screen | undefined {
  const demand = demandOf(request)
  return demand.allows === undefined && !demand.forces && unchecked === undefined
    ? undefined
    : new AnswerScreen(demand, unchecked, watch, request.session)
}

type Demand = {
  /** Whether a tool may be called; undefined: any may. */
  allows?: (name: string) => boolean
  /** The answer has to make a call. */
  forces: boolean
}

/** A tool that is not offered can be neither demanded nor kept apart from the others. */
function demandOf({ choice, tools }: Pick<ModelRequest, 'choice' | 'tools'>): Demand {
  if (choice === 'auto') return { forces: false }
  if (choice === 'none') return { allows: isApproval, forces: false }
  if (tools.length === 0) return { forces: false }
  if (choice === 'required') return { forces: true }
  const named = new Set(namesIn(choice))
  if (!tools.some(({ name }) => named.has(name))) return { forces: false }
  return {
    allows: name => named.has(name) || isApproval(name),
    forces: 'tool' in choice || choice.mode === 'required',
  }
}

const namesIn = (choice: Exclude<ToolChoice, string>): string[] =>
  'tool' in choice ? [choice.tool] : choice.allowed

/** The vendor's own question is no tool that a model can choose. */
const isApproval = (name: string): boolean => name === hostedApproval

class AnswerScreen implements Screen {
  readonly #demand: Demand
  readonly #format: AnswerFormat | undefined
  readonly #watch: (delta: ModelDelta) => void
  readonly #session: string
  /** The calls that were shown: the model's index → ours. */
  #shown = new Map<number, number>()
  #held: Extract<ModelDelta, { type: 'text' }>[] = []
  #holds: boolean

  constructor(
    demand: Demand,
    format: AnswerFormat | undefined,
    watch: (delta: ModelDelta) => void,
    session: string,
  ) {
    this.#session = session
    this.#demand = demand
    this.#format = format
    this.#watch = watch
    this.#holds = this.#mustHold
  }

  get #mustHold(): boolean {
    return this.#demand.forces || this.#format !== undefined
  }

  watch(delta: ModelDelta): void {
    switch (delta.type) {
      case 'text':
        if (this.#holds) this.#held.push(delta)
        else this.#watch(delta)
        break
      case 'call':
        this.#open(delta)
        break
      case 'arguments': {
        const index = this.#shown.get(delta.index)
        if (index !== undefined) this.#watch({ ...delta, index })
        break
      }
      case 'reset':
        this.#shown = new Map()
        this.#held = []
        this.#holds = this.#mustHold
        this.#watch(delta)
        break
      default:
        this.#watch(delta)
    }
  }

  #open(delta: Extract<ModelDelta, { type: 'call' }>): void {
    if (this.#demand.allows?.(delta.name) === false) return
    // An answer with a call is neither the text that was asked for nor without the call that was demanded.
    this.#release()
    const index = this.#shown.size
    this.#shown.set(delta.index, index)
    this.#watch({ ...delta, index })
  }

  #release(): void {
    this.#holds = false
    for (const held of this.#held) this.#watch(held)
    this.#held = []
  }

  judge(answer: ModelAnswer): Judged | Promise<Judged> {
    const { allows, forces } = this.#demand
    const parts = answer.parts.filter(part => part.type !== 'call' || allows?.(part.name) !== false)
    const dropped = answer.parts.length - parts.length
    const hasCalls = parts.some(part => part.type === 'call')
    const stop = answer.stop === 'calls' && !hasCalls ? 'end' : answer.stop
    const kept =
      dropped === 0 ? answer : { ...withoutContinuity(answer), parts, stop, warnings: warned(answer) }
    if (stop === 'end') {
      const did = parts.some(part => part.type === 'hosted')
      if (forces && !did) return { problem: 'A tool had to be called, and none that may be used was called.' }
      if (dropped > 0 && !did && textOf(parts).trim() === '')
        return { problem: 'No tool may be called now. Answer in text.' }
      if (this.#format !== undefined) return this.#judgeText(kept, this.#format)
    }
    this.#release()
    return { answer: kept }
  }

  /** A code fence around the JSON is left out; nothing else is changed. */
  async #judgeText(answer: ModelAnswer, format: AnswerFormat): Promise<Judged> {
    const said = textOf(answer.parts)
    const text = withoutFence(said)
    const problem = await formProblem(text, format, this.#session)
    if (problem !== undefined) return { problem }
    this.#held = []
    if (text === said.trim()) {
      this.#held = [{ type: 'text', text: said }]
      this.#release()
      return { answer }
    }
    this.#held = [{ type: 'text', text }]
    this.#release()
    const others: ModelPart[] = answer.parts.filter(part => part.type !== 'text')
    return { answer: { ...withoutContinuity(answer), parts: [...others, { type: 'text', text }] } }
  }
}

/** The vendor stored what it said, and not what is left of it. */
function withoutContinuity(answer: ModelAnswer): ModelAnswer {
  const { continuity: _, ...rest } = answer
  return rest
}

const warned = ({ warnings = [] }: ModelAnswer): string[] => [
  ...warnings,
  'The model made a call that the tool choice forbids. It was left out.',
]

// ---- the form of a text ----------------------------------------------------------------------------------

function withoutFence(text: string): string {
  const fenced = /^```[a-z]*[ \t\r]*\n([\s\S]*?)\n?```$/i.exec(text.trim())
  return (fenced?.[1] ?? text).trim()
}

async function formProblem(text: string, format: AnswerFormat, session: string): Promise<string | undefined> {
  let value: unknown
  try {
    value = parseJson(text)
  } catch {
    return 'The answer has to be JSON and nothing else, without other text and without a code fence.'
  }
  if (format.type === 'json') return isJsonObject(value) ? undefined : 'The answer has to be a JSON object.'
  try {
    const issues = await schemaChecker(format.schema).check(value, text, session)
    if (issues === null) return undefined
    if ('refused' in issues)
      return `Checking the answer against its schema ${issues.refused}. Make it simpler.`
    const said = issues
      .slice(0, 5)
      .map(({ path, message }) => `${path === '' ? 'the answer' : path} ${message}`)
    return printable(`The answer does not match its schema: ${said.join('; ')}.`, 1000)
  } catch (error) {
    // A schema that cannot be checked here was told to the model all the same.
    if (error instanceof SchemaError) return undefined
    throw error
  }
}

// ---- asking again ----------------------------------------------------------------------------------------

/** The same request, with the answer that was not used and what was wrong with it. Nothing is kept of it. */
export function repairRequest(request: ModelRequest, answer: ModelAnswer, problem: string): ModelRequest {
  const { memory: _, ...asked } = request
  const said = textOf(answer.parts)
  const again: Entry[] = [
    ...(said.trim() === ''
      ? []
      : [{ role: 'assistant' as const, parts: [{ type: 'text' as const, text: said }] }]),
    {
      role: 'user',
      parts: [{ type: 'text', text: `[Your answer could not be used. ${problem} Answer again.]` }],
    },
  ]
  return { ...asked, history: [...request.history, ...again] }
}
