// The form of an answer's text, kept even where the vendor does not keep it. Text that might have to be taken back is held
// until it has been judged, since some readers cannot take anything back. Which calls an answer may make is not judged here:
// the engine does that for every model.

import type { ModelAnswer, ModelDelta, ModelRequest } from '../engine/ports/index.ts'
import { joinText } from '../language/content.ts'
import type { AnswerFormat } from '../language/format.ts'
import { repairEntries } from '../language/history.ts'
import { readDemand } from '../language/tool-choice.ts'
import { schemaChecker } from '../lib/checks/index.ts'
import { isJsonObject, parseJson } from '../lib/json/index.ts'
import { SchemaError } from '../lib/schema/index.ts'
import { printable } from '../lib/text/index.ts'
import type { ModelPart } from './common/answer.ts'

/** `problem`: why the answer cannot be used, in words for the model. */
export type Judged = { answer: ModelAnswer } | { problem: string }

export class FormScreen {
  readonly #format: AnswerFormat
  readonly #watch: (delta: ModelDelta) => void
  readonly #session: string
  readonly #allows: (name: string) => boolean
  #held: Extract<ModelDelta, { type: 'text' }>[] = []
  #holds = true

  constructor(
    { choice, tools, session }: Pick<ModelRequest, 'choice' | 'tools' | 'session'>,
    format: AnswerFormat,
    watch: (delta: ModelDelta) => void,
  ) {
    this.#allows = readDemand(choice, tools).allows ?? (() => true)
    this.#session = session
    this.#format = format
    this.#watch = watch
  }

  watch(delta: ModelDelta): void {
    if (delta.type === 'text' && this.#holds) {
      this.#held.push(delta)
      return
    }
    // An answer with a call is not the text that was asked for.
    if (delta.type === 'call' && this.#allows(delta.name)) this.#release()
    if (delta.type === 'reset') {
      this.#held = []
      this.#holds = true
    }
    this.#watch(delta)
  }

  #release(): void {
    this.#holds = false
    for (const held of this.#held) this.#watch(held)
    this.#held = []
  }

  judge(answer: ModelAnswer): Judged | Promise<Judged> {
    const hasCalls = answer.parts.some(part => part.type === 'call' && this.#allows(part.name))
    if (answer.stop === 'end' || (answer.stop === 'calls' && !hasCalls))
      return this.#judgeText(answer, this.#format)
    this.#release()
    return { answer }
  }

  /** A code fence around the JSON is left out; nothing else is changed. */
  async #judgeText(answer: ModelAnswer, format: AnswerFormat): Promise<Judged> {
    const said = joinText(answer.parts)
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

/** The vendor stored its own text, not the text that is left of it. */
function withoutContinuity(answer: ModelAnswer): ModelAnswer {
  const { continuity: _, ...rest } = answer
  return rest
}

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
  return { ...asked, history: [...request.history, ...repairEntries(joinText(answer.parts), problem)] }
}
