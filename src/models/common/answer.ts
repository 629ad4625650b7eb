// The answer that a decoder ends with, its calls and its token counts, built with empty fields left out. The arguments of a
// call are gathered while they stream, found cut or whole at the end of an answer, and written into a history. A cut call
// never runs. In a history, arguments that are no JSON object are wrapped in one, because vendors take only objects, and so are
// those that nest too deep or are too long, which no request could carry; the text in the log stays as the model wrote it.

import type { ModelAnswer, ModelCall } from '../../engine/ports/index.ts'
import type { CallForm, CallPart } from '../../language/calls.ts'
import type { Native, Origin } from '../../language/content.ts'
import type { Usage, VendorAnswer } from '../../language/events.ts'
import { isJsonObject, type Json, type JsonObject, parseObject } from '../../lib/json/index.ts'
import { GatheredText } from '../../lib/text/gathered.ts'
import { cutUtf8, printable } from '../../lib/text/index.ts'
import { type TextUnwrapper, textUnwrapper, wrapText } from './text-tools.ts'

export type AnswerStop = ModelAnswer['stop']
export type ModelPart = ModelAnswer['parts'][number]

export function wholeAnswer(answer: {
  parts: ModelPart[]
  stop: AnswerStop
  origin: Origin
  usage: Usage | undefined
  continuity?: Native | undefined
  warnings?: string[]
  vendor?: VendorAnswer | undefined
  loads?: string[]
}): ModelAnswer {
  const { parts, stop, origin, usage, continuity, warnings = [], vendor, loads = [] } = answer
  return {
    parts,
    stop,
    origin,
    ...(usage && { usage }),
    ...(continuity && { continuity }),
    ...(warnings.length > 0 && { warnings }),
    ...(vendor && { vendor }),
    ...(loads.length > 0 && { loads }),
  }
}

/** The vendor's id of its answer, and the model that it reports. Undefined: it gives neither. */
export function vendorAnswer(id: Json | undefined, model: Json | undefined): VendorAnswer | undefined {
  const has = { id: typeof id === 'string' && id !== '', model: typeof model === 'string' && model !== '' }
  if (!has.id && !has.model) return undefined
  return {
    ...(has.id && { id: printable(id as string, 200) }), // Both were found to be texts.
    ...(has.model && { model: printable(model as string, 200) }),
  }
}

/** `nativeId`: '' for none. */
export function wholeCall(
  call: { name: string; form: CallForm; text: string },
  cut: boolean,
  nativeId: string,
  native?: Native,
): ModelCall {
  const { name, form, text } = call
  const caller = native && readProgram(native)
  return {
    type: 'call',
    name,
    form,
    text,
    ...(cut && { cut }),
    ...(caller !== undefined && { caller }),
    ...(nativeId !== '' && { nativeId }),
    ...(native && { native }),
  }
}

type TokenCounts = {
  /** Includes what was read from the cache and what was written to it. */
  input: number
  /** Includes thinking. */
  output: number
  cacheRead?: number
  cacheWrite?: number
  thinking?: number
}

export function usageOfCounts(counts: TokenCounts): Usage {
  const { input, output, cacheRead = 0, cacheWrite = 0, thinking = 0 } = counts
  return {
    input,
    output,
    ...(cacheRead > 0 && { cacheRead }),
    ...(cacheWrite > 0 && { cacheWrite }),
    ...(thinking > 0 && { thinking }),
  }
}

/** The tokens of several requests together. */
export function sumUsage(usages: readonly (Usage | undefined)[]): Usage | undefined {
  const counted = usages.filter(usage => usage !== undefined)
  if (counted.length < 2) return counted[0]
  const total = (name: keyof Usage): number => counted.reduce((sum, usage) => sum + (usage[name] ?? 0), 0)
  return usageOfCounts({
    input: total('input'),
    output: total('output'),
    cacheRead: total('cacheRead'),
    cacheWrite: total('cacheWrite'),
    thinking: total('thinking'),
  })
}

/** The program at the vendor that made the call, by its id there. Undefined: the model made it itself. */
function readProgram({ data }: Native): string | undefined {
  const caller = isJsonObject(data) ? data['caller'] : undefined
  if (!isJsonObject(caller) || caller['type'] === undefined || caller['type'] === 'direct') return undefined
  const id = caller['tool_id'] ?? caller['caller_id']
  return typeof id === 'string' ? id : ''
}

// ---- arguments ------------------------------------------------------------------------------------------

/**
 * `closed`: the vendor marked the arguments as whole. `unclosed`: the vendor has such a mark and it never came.
 * `length`: the answer hit its limit in its last call, and the vendor has no mark.
 */
export type ArgumentsEnd = 'closed' | 'unclosed' | 'length'

export function isCut(call: { form: CallForm; text: string }, end: ArgumentsEnd): boolean {
  if (end === 'closed') return false
  if (end === 'unclosed') return true
  return call.form === 'text' || parseObject(call.text) === undefined
}

/** Empty arguments mean this on every vendor. */
export const NO_ARGUMENTS = '{}'

/** The arguments of one call while they stream. */
export class CallArguments {
  readonly form: CallForm
  readonly #raw = new GatheredText()
  #shown: GatheredText
  readonly #unwrapper: TextUnwrapper | undefined
  readonly #translate: ((raw: string) => string) | undefined
  /** The string that the text was wrapped in has ended. */
  #closed = false

  /**
   * `wrapped`: a text tool that was declared as a function. `translate`: the whole arguments of a vendor-typed tool as its
   * own; they are shown once they are whole.
   */
  constructor(form: CallForm, wrapped = form === 'text', translate?: (raw: string) => string) {
    this.form = form
    this.#unwrapper = wrapped && translate === undefined ? textUnwrapper() : undefined
    this.#translate = translate
    this.#shown = wrapped || translate ? new GatheredText() : this.#raw
  }

  /** As the vendor sent them. */
  get raw(): string {
    return this.#raw.whole
  }

  /** As they are shown: `raw`, or the text in it when the tool was declared as a function of one string. */
  get text(): string {
    return this.#shown.whole
  }

  /** Takes a fragment; gives the text that it adds. */
  push(fragment: string): string {
    this.#raw.add(fragment)
    if (this.#translate !== undefined) return ''
    return this.#unwrapper === undefined ? fragment : this.#show(this.#unwrapper.push(fragment))
  }

  /** Gives the rest of the text once no fragment follows. `fill`: empty arguments become an empty object. */
  end(fill = true): string {
    if (this.#translate !== undefined) return this.#show(this.#translate(this.raw || NO_ARGUMENTS))
    if (this.#unwrapper === undefined) {
      if (!fill || this.form !== 'json' || this.raw !== '') return ''
      this.#shown = new GatheredText()
      return this.#show(NO_ARGUMENTS)
    }
    const { rest, closed } = this.#unwrapper.end()
    this.#closed = closed
    return this.#show(rest)
  }

  /** Valid after `end()`. */
  isCut(end: ArgumentsEnd): boolean {
    if (end === 'closed') return false
    if (this.#unwrapper !== undefined && end === 'length') return !this.#closed
    return isCut({ form: this.form, text: this.raw }, end)
  }

  #show(text: string): string {
    this.#shown.add(text)
    return text
  }
}

/** Longer arguments of a past call are shortened: with them no vendor would take any further request. */
const mostChars = 16 * 1024 * 1024
const mostInvalid = 64 * 1024

function writableObject(text: string): JsonObject | undefined {
  return text.length > mostChars ? undefined : parseObject(text)
}

/** The arguments of a past call as an object: never null, a list or a text, which vendors refuse in a history. */
export function historyArguments(call: CallPart): JsonObject {
  if (call.form === 'text') return wrapText(call.text)
  if (call.text.trim() === '') return {}
  return writableObject(call.text) ?? { invalid_arguments: cutUtf8(call.text, mostInvalid).text }
}

/** The same as JSON text, in the model's own spelling if that is an object. */
export function historyArgumentsText(call: CallPart): string {
  if (call.form === 'json' && writableObject(call.text) !== undefined) return call.text
  return JSON.stringify(historyArguments(call))
}
