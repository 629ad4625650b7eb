// Folds the events of a turn into messages. The reverse too: an answer that came as one JSON document is turned into the
// events of `message` mode, so that a caller reads both in the same way.
import type { AgentMessage, ContentBlock, StopInfo, TurnAnswer, TurnEvent } from './types.ts'

export class TurnFold {
  readonly #messages: AgentMessage[] = []
  #blocks: ContentBlock[] = []
  #stop: StopInfo | undefined

  /** Undefined until the turn has stopped. */
  get stop(): StopInfo | undefined {
    return this.#stop
  }

  /** The messages that are complete so far. All of them, once the turn has stopped. */
  get messages(): AgentMessage[] {
    return [...this.#messages]
  }

  take(event: TurnEvent): void {
    switch (event.event) {
      case 'turn_start':
        break
      case 'text_delta':
        this.#grow('text', event.delta)
        break
      case 'thinking_delta':
        this.#grow('thinking', event.delta)
        break
      case 'text':
        this.#blocks.push({ type: 'text', text: event.text })
        break
      case 'thinking':
        this.#blocks.push({ type: 'thinking', thinking: event.thinking })
        break
      case 'tool_call': {
        const { toolCallId, name, input } = event
        this.#blocks.push({ type: 'tool_use', toolCallId, name, input })
        break
      }
      case 'tool_result':
        this.#close()
        this.#messages.push({ role: 'tool', toolCallId: event.toolCallId, content: event.content })
        break
      case 'turn_stop': {
        const { event: _, ...stop } = event
        this.#close()
        this.#stop = stop
        break
      }
    }
  }

  #grow(kind: 'text' | 'thinking', delta: string): void {
    const last = this.#blocks.at(-1)
    if (kind === 'text' && last?.type === 'text') last.text += delta
    else if (kind === 'thinking' && last?.type === 'thinking') last.thinking += delta
    else
      this.#blocks.push(
        kind === 'text' ? { type: 'text', text: delta } : { type: 'thinking', thinking: delta },
      )
  }

  #close(): void {
    const blocks = this.#blocks
    this.#blocks = []
    const [only] = blocks
    if (only === undefined) return
    const content = blocks.length === 1 && only.type === 'text' ? only.text : blocks
    this.#messages.push({ role: 'assistant', content })
  }
}

export function* unfold({ messages, ...stop }: TurnAnswer): Generator<TurnEvent> {
  yield { event: 'turn_start' }
  for (const message of messages) {
    if (message.role === 'tool') {
      yield { event: 'tool_result', toolCallId: message.toolCallId, content: message.content }
      continue
    }
    const blocks: ContentBlock[] =
      typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content
    for (const block of blocks) {
      if (block.type === 'text') yield { event: 'text', text: block.text }
      else if (block.type === 'thinking') yield { event: 'thinking', thinking: block.thinking }
      else if (block.type === 'tool_use') {
        const { toolCallId, name, input } = block
        yield { event: 'tool_call', toolCallId, name, input }
      }
    }
  }
  yield { event: 'turn_stop', ...stop }
}
