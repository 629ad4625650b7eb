// An answer as a Messages response, or as the vendor's stream of events. Blocks that this vendor made are given as they came.
// Thinking of any other model has an empty signature, and is left out when a client sends it back.
import type { OnceAnswer, OnceItem, PlainError } from '../../engine/index.ts'
import { joinText, type Native } from '../../language/content.ts'
import type { Delta, Usage } from '../../language/events.ts'
import type { AnswerPart } from '../../language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { sseFrame } from '../http/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { argumentsObject } from '../stateless/index.ts'
import type { Diagnostics } from './decode.ts'
import { ownSummary } from './decode-blocks.ts'
import { messagesErrorBody } from './wordings.ts'

export type MessageHead = {
  id: string
  model: string
  /** The answer is a summary of the conversation. `own`: the model has said it as text. */
  summary?: 'vendor' | 'own'
  diagnostics?: Diagnostics
}

const stopReasons: Readonly<Record<OnceAnswer['stop'], string>> = {
  end: 'end_turn',
  calls: 'tool_use',
  length: 'max_tokens',
  refusal: 'refusal',
  filter: 'refusal',
}

export function encodeMessage(head: MessageHead, answer: OnceAnswer): JsonObject {
  return {
    ...messageFields(head),
    content: shownParts(head, answer).flatMap(encodeBlocks),
    container: encodeContainer(answer),
    ...encodeStop(head, answer),
    usage: encodeMessageUsage(answer.usage),
  }
}

function messageFields({ id, model, diagnostics }: MessageHead): JsonObject {
  return {
    id,
    type: 'message',
    role: 'assistant',
    model,
    container: null,
    ...(diagnostics && { diagnostics }),
  }
}

/** A summary that the model has said here becomes the block that the client sends in place of the conversation. */
function shownParts({ summary }: MessageHead, { parts }: OnceAnswer): readonly AnswerPart[] {
  if (summary !== 'own') return parts
  const said = joinText(parts)
  const content = said.trim() === '' ? null : said
  const data = { type: 'compaction', content, encrypted_content: null, signature: ownSummary }
  const native = { origin: { protocol: 'anthropic', family: ownSummary }, data }
  return [{ type: 'hosted', tool: 'compaction', summary: 'compaction', native }]
}

/** Where the vendor's code has run, for the client to name it again. */
function encodeContainer({ continuity }: OnceAnswer): Json {
  const container = anthropicBlock(continuity)?.['container']
  return isJsonObject(container) ? container : null
}

function encodeStop({ summary }: MessageHead, { stop }: OnceAnswer): JsonObject {
  const stop_reason = summary && stop === 'end' ? 'compaction' : stopReasons[stop]
  const stop_details =
    stop_reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null
  return { stop_reason, stop_sequence: null, stop_details }
}

/** None for a part that has nothing to show. */
function encodeBlocks(part: AnswerPart): JsonObject[] {
  const own = anthropicBlock(part.native)
  switch (part.type) {
    case 'text':
      return part.text === ''
        ? []
        : [{ type: 'text', text: part.text, citations: own?.['citations'] ?? null }]
    case 'thinking':
      if (own) return [own]
      return part.text === '' ? [] : [{ type: 'thinking', thinking: part.text, signature: '' }]
    case 'call':
      return [{ ...callBlock(part.id, part.name), input: argumentsObject(part.text), ...own }]
    case 'hosted':
      return own ? [own] : []
  }
}

function callBlock(id: string, name: string): JsonObject {
  return { type: 'tool_use', id, name, input: {}, caller: { type: 'direct' } }
}

/** The block as this vendor made it. */
function anthropicBlock(native: Native | undefined): JsonObject | undefined {
  return native?.origin.protocol === 'anthropic' && isJsonObject(native.data) ? native.data : undefined
}

/** The vendor counts cached input apart; ours includes it. Zeros if the model gave no count. */
function encodeMessageUsage(usage: Usage | undefined): JsonObject {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, thinking } = usage ?? {}
  return {
    input_tokens: Math.max(0, input - cacheRead - cacheWrite),
    output_tokens: output,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    cache_creation: null,
    output_tokens_details: thinking === undefined ? null : { thinking_tokens: thinking },
    server_tool_use: null,
    service_tier: 'standard',
  }
}

// ---- the stream --------------------------------------------------------------------------------------------

// One block after the other, each opened, filled and closed. A thinking block closes with its signature. If the model signs
// with its whole answer only, the blocks after its thinking wait for that. Calls whose arguments come interleaved are given
// one by one.

type OpenBlock = { kind: 'text' | 'thinking' } | { kind: 'call'; callId: string; text: string }
type WaitingCall = { block: JsonObject; text: string }

const ping = sseFrame('ping', { type: 'ping' })

export class MessageStreamEncoder implements FrameEncoder<OnceItem> {
  readonly heartbeat = ping
  readonly #head: MessageHead
  readonly #signs: boolean
  #index = 0
  #open: OpenBlock | undefined
  /** Thinking that was given and not yet signed. */
  #thought = ''
  /** Everything waits for the whole answer: the open thinking has no signature yet. */
  #holds = false
  /** Blocks of hosted tools that were given. */
  #hosted = 0
  /** Calls that wait until the open one is whole. */
  readonly #waiting = new Map<string, WaitingCall>()

  constructor(head: MessageHead, signs: boolean) {
    this.#head = head
    this.#signs = signs
  }

  begin(): string {
    const message = {
      ...messageFields(this.#head),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: encodeMessageUsage(undefined),
    }
    return eventFrame('message_start', { message })
  }

  take(item: OnceItem): string {
    if (item.type === 'answer') return this.#finish(item.answer)
    // A summary is given whole, as one block.
    return this.#head.summary === 'own' ? '' : this.#takeDelta(item.delta)
  }

  fail(error: PlainError): string {
    return sseFrame('error', messagesErrorBody(error))
  }

  // ---- deltas -----------------------------------------------------------------------------------------------

  #takeDelta(delta: Delta): string {
    switch (delta.type) {
      case 'thinking':
        return this.#holds ? '' : this.#think(delta.text)
      case 'block':
        return this.#holds ? '' : this.#endBlock(delta.native)
      case 'text':
        if (this.#mustHold()) return ''
        return this.#fill('text', emptyTextBlock, { type: 'text_delta', text: delta.text })
      case 'call.opened': {
        if (this.#mustHold()) return ''
        return this.#openCall(delta.callId, { block: callBlock(delta.callId, delta.name), text: '' })
      }
      case 'arguments':
        return this.#mustHold() ? '' : this.#addArguments(delta.callId, delta.text)
      default:
        return ''
    }
  }

  #mustHold(): boolean {
    this.#holds ||= this.#signs && this.#open?.kind === 'thinking'
    return this.#holds
  }

  #think(text: string): string {
    this.#thought += text
    return this.#fill('thinking', emptyThinkingBlock, { type: 'thinking_delta', thinking: text })
  }

  /** The model has ended a block. Thinking that was given gets its signature; any other block is given whole. */
  #endBlock(native: Native | undefined): string {
    const block = anthropicBlock(native)
    const isThinking = block === undefined || block['type'] === 'thinking'
    if (isThinking && this.#open?.kind === 'thinking') {
      this.#thought = ''
      return this.#close(native)
    }
    if (block === undefined) return ''
    if (!isThinking && block['type'] !== 'redacted_thinking') this.#hosted += 1
    return this.#close() + this.#wholeBlock(block)
  }

  #fill(kind: 'text' | 'thinking', block: JsonObject, delta: JsonObject): string {
    const opening = this.#open?.kind === kind ? '' : this.#close() + this.#start(block, { kind })
    return opening + this.#delta(delta)
  }

  #openCall(callId: string, call: WaitingCall): string {
    if (this.#isInCall()) {
      this.#waiting.set(callId, call)
      return ''
    }
    return this.#close() + this.#startCall(callId, call)
  }

  #startCall(callId: string, { block, text }: WaitingCall): string {
    const opened = this.#start(block, { kind: 'call', callId, text }) + this.#delta(argumentsDelta(''))
    return text === '' ? opened : opened + this.#delta(argumentsDelta(text))
  }

  #addArguments(callId: string, text: string): string {
    const open = this.#open
    if (open?.kind === 'call' && open.callId === callId) {
      open.text += text
      return this.#delta(argumentsDelta(text)) + this.#startWaiting()
    }
    const waiting = this.#waiting.get(callId)
    if (waiting) waiting.text += text
    return ''
  }

  /** `all`: no more arguments will come. */
  #startWaiting(all = false): string {
    let frames = ''
    for (const [callId, call] of this.#waiting) {
      if (!all && this.#isInCall()) break
      this.#waiting.delete(callId)
      frames += this.#close() + this.#startCall(callId, call)
    }
    return frames
  }

  /** The open block is a call whose arguments are not whole yet. */
  #isInCall(): boolean {
    return this.#open?.kind === 'call' && !isJson(this.#open.text)
  }

  // ---- the answer -------------------------------------------------------------------------------------------

  #finish(answer: OnceAnswer): string {
    const parts = shownParts(this.#head, answer)
    const rest = this.#holds ? this.#giveHeld(parts) : this.#giveRest(parts)
    const delta = { ...encodeStop(this.#head, answer), container: encodeContainer(answer) }
    return (
      rest +
      eventFrame('message_delta', { delta, usage: encodeMessageUsage(answer.usage) }) +
      eventFrame('message_stop', {})
    )
  }

  /** Signed thinking that came too late for its place is left out. */
  #giveRest(parts: readonly AnswerPart[]): string {
    const waiting = this.#startWaiting(true)
    const own = parts.find(part => part.type === 'thinking')
    const isOpen = this.#open?.kind === 'thinking' && own?.text === this.#thought
    const closed = this.#close(isOpen ? own?.native : undefined)
    const hosted = parts.filter(part => part.type === 'hosted').slice(this.#hosted)
    return waiting + closed + this.#wholeParts(hosted)
  }

  /** The answer in its own order, without the thinking that was given. */
  #giveHeld(parts: readonly AnswerPart[]): string {
    const [first, ...others] = parts
    if (first?.type === 'thinking' && first.text.startsWith(this.#thought)) {
      const missing = first.text.slice(this.#thought.length)
      const thinking = missing === '' ? '' : this.#think(missing)
      return thinking + this.#close(first.native) + this.#wholeParts(others)
    }
    // Several blocks of thinking were given as one. No signature fits it.
    return this.#close() + this.#wholeParts(parts.filter(part => part.type !== 'thinking'))
  }

  #wholeParts(parts: readonly AnswerPart[]): string {
    let frames = ''
    for (const part of parts)
      for (const block of encodeBlocks(part))
        frames += this.#wholeBlock(block, part.type === 'call' ? part.text : '')
    return frames
  }

  /** `written`: the arguments of a call as the model wrote them. */
  #wholeBlock(block: JsonObject, written = ''): string {
    const { text = '', thinking = '', signature = '' } = block
    switch (block['type']) {
      case 'text':
        return this.#filledBlock({ ...block, text: '' }, [{ type: 'text_delta', text }])
      case 'thinking':
        return this.#filledBlock({ ...block, thinking: '', signature: '' }, [
          ...(thinking === '' ? [] : [{ type: 'thinking_delta', thinking }]),
          { type: 'signature_delta', signature },
        ])
      case 'tool_use':
        return this.#filledBlock({ ...block, input: {} }, [argumentsDelta(''), argumentsDelta(written)])
      default:
        return this.#filledBlock(block, [])
    }
  }

  #filledBlock(block: JsonObject, deltas: readonly JsonObject[]): string {
    let frames = this.#start(block, { kind: 'text' })
    for (const delta of deltas) frames += this.#delta(delta)
    return frames + this.#close()
  }

  // ---- frames -----------------------------------------------------------------------------------------------

  #start(content_block: JsonObject, open: OpenBlock): string {
    this.#open = open
    const started = eventFrame('content_block_start', { index: this.#index, content_block })
    return this.#index === 0 ? started + ping : started
  }

  #delta(delta: JsonObject): string {
    return eventFrame('content_block_delta', { index: this.#index, delta })
  }

  #close(thought?: Native): string {
    if (!this.#open) return ''
    const signature = anthropicBlock(thought)?.['signature']
    const signed = typeof signature === 'string' ? this.#delta({ type: 'signature_delta', signature }) : ''
    const closed = signed + eventFrame('content_block_stop', { index: this.#index })
    this.#open = undefined
    this.#index += 1
    return closed
  }
}

const emptyTextBlock: JsonObject = { type: 'text', text: '', citations: null }
const emptyThinkingBlock: JsonObject = { type: 'thinking', thinking: '', signature: '' }

function eventFrame(type: string, data: JsonObject): string {
  return sseFrame(type, { type, ...data })
}

function argumentsDelta(partial_json: string): JsonObject {
  return { type: 'input_json_delta', partial_json }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
