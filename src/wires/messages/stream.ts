// An answer as the vendor's stream of events: blocks one after the other, each opened, filled and closed. A thinking block
// closes with its signature. A model that tells its blocks as they end is told live; of one that gives signatures with its
// whole answer only, what follows thinking is held back until then. Calls whose arguments come in turns are told one by one.
import type { Native } from '../../language/content.ts'
import type { AnswerPart } from '../../language/history.ts'
import type { JsonObject } from '../../lib/json.ts'
import { sseFrame } from '../http/index.ts'
import type { Answer, Piece, StreamEncoder } from '../stateless/index.ts'
import type { MessagesRequest } from './decode.ts'
import { callHead, encodePart, encodeStop, encodeUsage, type Head, messageHead, nativeOf } from './encode.ts'
import { errorBody } from './refuse.ts'

type Open = { kind: 'text' | 'thinking' } | { kind: 'call'; call: number; text: string }
type Waiting = { head: JsonObject; text: string }

const ping = sseFrame('ping', { type: 'ping' })

export class EventEncoder implements StreamEncoder {
  readonly beat = ping
  readonly #head: Head
  readonly #signs: MessagesRequest['signs']
  #index = 0
  #open: Open | undefined
  #thought = ''
  #holds = false
  /** Hosted blocks that were told in their places. */
  #hosted = 0
  readonly #waiting = new Map<number, Waiting>()

  constructor(head: Head, signs: MessagesRequest['signs']) {
    this.#head = head
    this.#signs = signs
  }

  begin(): string {
    const message = {
      ...messageHead(this.#head),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: encodeUsage(undefined),
    }
    return frame('message_start', { message })
  }

  take(piece: Piece): string {
    if (piece.type === 'thinking') return this.#think(piece.text)
    if (piece.type === 'block') return this.#block(piece.native)
    if (this.#signs && this.#open?.kind === 'thinking') this.#holds = true
    if (this.#holds) return ''
    switch (piece.type) {
      case 'text':
        return this.#fill(
          'text',
          { type: 'text', text: '', citations: null },
          { type: 'text_delta', text: piece.text },
        )
      case 'call':
        return this.#call(piece.index, { head: callHead(piece), text: '' })
      case 'arguments':
        return this.#arguments(piece.index, piece.text)
    }
  }

  end(answer: Answer, rest: readonly Piece[]): string {
    const told = this.#holds ? this.#tellHeld(answer.parts) : this.#tellRest(answer, rest)
    const delta = { ...encodeStop(answer), container: null }
    return (
      told + frame('message_delta', { delta, usage: encodeUsage(answer.usage) }) + frame('message_stop', {})
    )
  }

  fail(failure: Parameters<StreamEncoder['fail']>[0]): string {
    return sseFrame('error', errorBody(undefined, failure))
  }

  // ---- pieces -----------------------------------------------------------------------------------------------

  #think(text: string): string {
    if (this.#holds) return ''
    this.#thought += text
    return this.#fill(
      'thinking',
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: text },
    )
  }

  /** The block as its maker has closed it: thinking whose words were told gets its signature, any other is told whole. */
  #block(native: Native | undefined): string {
    if (this.#holds) return ''
    const block = nativeOf(native)
    const isThought = block === undefined || block['type'] === 'thinking'
    if (isThought && this.#open?.kind === 'thinking') {
      this.#thought = ''
      return this.#close(native)
    }
    if (block === undefined) return ''
    if (!isThought && block['type'] !== 'redacted_thinking') this.#hosted += 1
    return this.#close() + this.#wholeBlock(block, '')
  }

  #fill(kind: 'text' | 'thinking', block: JsonObject, delta: JsonObject): string {
    const opening = this.#open?.kind === kind ? '' : this.#close() + this.#start(block, { kind })
    return opening + this.#delta(delta)
  }

  #call(call: number, waiting: Waiting): string {
    if (this.#open?.kind === 'call' && !isWhole(this.#open.text)) {
      this.#waiting.set(call, waiting)
      return ''
    }
    return this.#close() + this.#startCall(call, waiting)
  }

  #startCall(call: number, { head, text }: Waiting): string {
    const opened = this.#start(head, { kind: 'call', call, text }) + this.#delta(argumentsDelta(''))
    return text === '' ? opened : opened + this.#delta(argumentsDelta(text))
  }

  #arguments(call: number, text: string): string {
    const open = this.#open
    if (open?.kind !== 'call' || open.call !== call) {
      const waiting = this.#waiting.get(call)
      if (waiting) waiting.text += text
      return ''
    }
    open.text += text
    const told = this.#delta(argumentsDelta(text))
    return this.#waiting.size > 0 && isWhole(open.text) ? told + this.#tellWaiting() : told
  }

  #tellWaiting(all = false): string {
    let told = ''
    for (const [call, waiting] of this.#waiting) {
      if (!all && this.#open?.kind === 'call' && !isWhole(this.#open.text)) return told
      this.#waiting.delete(call)
      told += this.#close() + this.#startCall(call, waiting)
    }
    return told
  }

  // ---- the end ----------------------------------------------------------------------------------------------

  /** Signed thinking that was not seen in time to stand in its place is left out whole. */
  #tellRest({ parts }: Answer, rest: readonly Piece[]): string {
    let told = rest.map(piece => this.take(piece)).join('')
    if (this.#holds) return told + this.#tellHeld(parts)
    told += this.#tellWaiting(true)
    const own = parts.find(part => part.type === 'thinking')
    const isOnlyThought =
      this.#open?.kind === 'thinking' && own?.type === 'thinking' && own.text === this.#thought
    told += this.#close(isOnlyThought ? own.native : undefined)
    const hosted = parts.filter(part => part.type === 'hosted').slice(this.#hosted)
    return told + hosted.map(part => this.#whole(part)).join('')
  }

  /** The answer in its own order, less the thinking that was told already. */
  #tellHeld(parts: readonly AnswerPart[]): string {
    const [first, ...others] = parts
    if (this.#thought === '') return parts.map(part => this.#whole(part)).join('')
    if (first?.type === 'thinking' && first.text.startsWith(this.#thought)) {
      const missing = first.text.slice(this.#thought.length)
      const told = (missing === '' ? '' : this.#think(missing)) + this.#close(first.native)
      return told + others.map(part => this.#whole(part)).join('')
    }
    // Several blocks of thinking were told as one: no signature fits, so that none of them can go back.
    const told = this.#close()
    return told + parts.map(part => (part.type === 'thinking' ? '' : this.#whole(part))).join('')
  }

  #whole(part: AnswerPart): string {
    const written = part.type === 'call' ? part.text : ''
    return encodePart(part)
      .map(block => this.#wholeBlock(block, written))
      .join('')
  }

  /** `written`: the arguments of a call as the model wrote them. */
  #wholeBlock(block: JsonObject, written: string): string {
    return this.#filled(block, written) + this.#close()
  }

  #filled(block: JsonObject, written: string): string {
    switch (block['type']) {
      case 'text':
        return (
          this.#start({ ...block, text: '' }) + this.#delta({ type: 'text_delta', text: block['text'] ?? '' })
        )
      case 'thinking':
        return (
          this.#start({ ...block, thinking: '', signature: '' }) +
          (block['thinking'] === ''
            ? ''
            : this.#delta({ type: 'thinking_delta', thinking: block['thinking'] ?? '' })) +
          this.#delta({ type: 'signature_delta', signature: block['signature'] ?? '' })
        )
      case 'tool_use':
        return (
          this.#start({ ...block, input: {} }) +
          this.#delta(argumentsDelta('')) +
          this.#delta(argumentsDelta(written))
        )
      default:
        return this.#start(block)
    }
  }

  // ---- blocks -----------------------------------------------------------------------------------------------

  #start(content_block: JsonObject, open: Open = { kind: 'text' }): string {
    this.#open = open
    const started = frame('content_block_start', { index: this.#index, content_block })
    return this.#index === 0 ? started + ping : started
  }

  #delta(delta: JsonObject): string {
    return frame('content_block_delta', { index: this.#index, delta })
  }

  #close(thought?: Native): string {
    if (!this.#open) return ''
    const signature = nativeOf(thought)?.['signature']
    const signed = typeof signature === 'string' ? this.#delta({ type: 'signature_delta', signature }) : ''
    const closed = signed + frame('content_block_stop', { index: this.#index })
    this.#open = undefined
    this.#index += 1
    return closed
  }
}

function frame(type: string, data: JsonObject): string {
  return sseFrame(type, { type, ...data })
}

function argumentsDelta(partial_json: string): JsonObject {
  return { type: 'input_json_delta', partial_json }
}

function isWhole(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
