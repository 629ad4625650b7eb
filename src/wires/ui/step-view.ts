// One answer of the model as the stream shows it: blocks of text and reasoning that are started, filled and ended, and
// calls whose input comes in pieces. The stream has a word for taking a step back, so an answer given again is clean.
import type { Delta, ModelAnswered } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import type { Chunk } from './schema.ts'

type Kind = 'text' | 'reasoning'

export class StepView {
  readonly #emit: (chunk: Chunk) => void
  readonly #name: string
  /** What was shown, by kind, and of each call. */
  readonly #shown = { text: '', reasoning: '' }
  readonly #inputs = new Map<string, string>()
  #open: { kind: Kind; id: string } | undefined
  #blocks = 0
  #started = false

  constructor(name: string, emit: (chunk: Chunk) => void) {
    this.#name = name
    this.#emit = emit
  }

  get started(): boolean {
    return this.#started
  }

  start(): void {
    if (!this.#started) this.#emit({ type: 'start-step' })
    this.#started = true
  }

  // ---- live -------------------------------------------------------------------------------------------------

  take(delta: Delta): void {
    if (delta.type === 'text') this.#write('text', delta.text)
    else if (delta.type === 'thinking') this.#write('reasoning', delta.text)
    else if (delta.type === 'call.opened') {
      this.start()
      this.close()
      this.#inputs.set(delta.callId, '')
      this.#emit({
        type: 'tool-input-start',
        toolCallId: delta.callId,
        toolName: delta.name,
        ...(delta.form === 'text' && { inputEncoding: 'text' }),
      })
    } else if (delta.type === 'arguments') {
      const before = this.#inputs.get(delta.callId)
      if (before === undefined || delta.text === '') return
      this.#inputs.set(delta.callId, before + delta.text)
      this.#emit({ type: 'tool-input-delta', toolCallId: delta.callId, inputTextDelta: delta.text })
    }
  }

  #write(kind: Kind, text: string): void {
    if (text === '') return
    this.start()
    const { id } = this.#open?.kind === kind ? this.#open : this.#begin(kind)
    this.#shown[kind] += text
    this.#emit({ type: `${kind}-delta`, id, delta: text })
  }

  #begin(kind: Kind): { kind: Kind; id: string } {
    this.close()
    this.#blocks += 1
    const open = { kind, id: `${this.#name}-${this.#blocks}` }
    this.#open = open
    this.#emit({ type: `${kind}-start`, id: open.id })
    return open
  }

  /** Ends the block that is open. */
  close(): void {
    if (this.#open) this.#emit({ type: `${this.#open.kind}-end`, id: this.#open.id })
    this.#open = undefined
  }

  // ---- the end ----------------------------------------------------------------------------------------------

  /** What was shown is void. */
  reset(): void {
    if (this.#started) this.#emit({ type: 'reset-step' })
    this.#open = undefined
    this.#shown.text = ''
    this.#shown.reasoning = ''
    this.#inputs.clear()
  }

  complete({ parts }: ModelAnswered): void {
    if (!this.#agrees(parts)) this.reset()
    this.start()
    const nothing = this.#shown.text === '' && this.#shown.reasoning === ''
    if (nothing) for (const part of parts) this.#whole(part)
    else {
      this.#write('reasoning', textOf(parts, 'thinking').slice(this.#shown.reasoning.length))
      this.#write('text', textOf(parts, 'text').slice(this.#shown.text.length))
    }
    for (const part of parts)
      if (part.type === 'hosted') {
        this.close()
        this.#write('reasoning', `[${part.tool}] ${part.summary}`)
      }
    this.close()
  }

  /** Each in a block of its own. */
  #whole(part: AnswerPart): void {
    if (part.type !== 'text' && part.type !== 'thinking') return
    this.close()
    this.#write(part.type === 'text' ? 'text' : 'reasoning', part.text)
  }

  /** Whether what was shown is a beginning of the answer. */
  #agrees(parts: readonly AnswerPart[]): boolean {
    const written = new Map(
      parts.flatMap(part => (part.type === 'call' ? [[part.id, part.text] as const] : [])),
    )
    return (
      textOf(parts, 'text').startsWith(this.#shown.text) &&
      textOf(parts, 'thinking').startsWith(this.#shown.reasoning) &&
      [...this.#inputs].every(([id, text]) => written.get(id)?.startsWith(text) ?? false)
    )
  }
}

function textOf(parts: readonly AnswerPart[], kind: 'text' | 'thinking'): string {
  let text = ''
  for (const part of parts) if (part.type === kind) text += part.text
  return text
}
