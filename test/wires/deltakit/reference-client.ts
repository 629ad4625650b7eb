// A client of DeltaKit that is not ours: it does what the library's parser, hook and transports are known to do, and
// nothing more. It shares no code with src/, so that the two can disagree.

export type Part =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool_call'; tool_name: string; argument: string; callId?: string; result?: string }
export type Message = { id: string; role: 'user' | 'assistant'; parts: Part[] }
export type Wire = { type: string; [member: string]: unknown }

/** Splits on LF LF alone; every `data:` line is a document; `[DONE]` ends; bad JSON is skipped; the rest is dropped. */
export async function readEvents(response: Response): Promise<Wire[]> {
  const events: Wire[] = []
  for await (const event of eventsOf(response)) events.push(event)
  return events
}

export async function* eventsOf(response: Response): AsyncGenerator<Wire, void, undefined> {
  if (!response.ok) throw new Error(`SSE request failed: ${response.status} ${response.statusText}`)
  if (!response.body) throw new Error('Response body is null')
  const decoder = new TextDecoder()
  let held = ''
  for await (const bytes of response.body) {
    held += decoder.decode(bytes, { stream: true })
    for (let end = held.indexOf('\n\n'); end >= 0; end = held.indexOf('\n\n')) {
      const block = held.slice(0, end)
      held = held.slice(end + 2)
      for (const line of block.split('\n')) {
        if (!line.startsWith('data:')) continue
        const payload = line.slice(5).trim()
        if (payload === '[DONE]') return
        try {
          yield JSON.parse(payload) as Wire
        } catch {
          // Skipped without a word.
        }
      }
    }
  }
}

/** All the text that these events show. */
export function textIn(events: readonly Wire[]): string {
  return events.map(event => (typeof event['delta'] === 'string' ? event['delta'] : '')).join('')
}

/** The raw text of a stream, as blocks. */
export async function blocksOf(response: Response): Promise<string[]> {
  const text = await response.text()
  if (!text.endsWith('\n\n')) throw new Error('the stream does not end with an empty line')
  return text.slice(0, -2).split('\n\n')
}

/** The state of the hook with the handler of its guide on tool calls. */
export class Chat {
  messages: Message[] = []
  #count = 0

  send(text: string): void {
    this.messages.push(
      { id: this.#id(), role: 'user', parts: [{ type: 'text', text }] },
      { id: this.#id(), role: 'assistant', parts: [] },
    )
  }

  take(event: Wire): void {
    const last = this.messages.at(-1)
    if (last?.role !== 'assistant') return
    if (event.type === 'text_delta') append(last, 'text', String(event['delta']))
    else if (event.type === 'reasoning') append(last, 'reasoning', String(event['text']))
    else if (event.type === 'tool_call')
      last.parts.push({
        type: 'tool_call',
        tool_name: String(event['tool_name']),
        argument: String(event['argument']),
        callId: String(event['call_id']),
      })
    else if (event.type === 'tool_result')
      for (const part of last.parts)
        if (part.type === 'tool_call' && part.callId === event['call_id'])
          part.result = String(event['output'])
  }

  /** The handler of a client that was given none: text alone. */
  takeByDefault(event: Wire): void {
    if (event.type === 'text_delta') this.take(event)
  }

  #id(): string {
    this.#count += 1
    return `msg_0_${this.#count}`
  }
}

function append(message: Message, type: 'text' | 'reasoning', text: string): void {
  const last = message.parts.at(-1)
  if (last?.type === type) last.text += text
  else message.parts.push({ type, text })
}

type Item = { [member: string]: unknown }

/** The converter of its history guide, for the items that matter here. */
export function fromItems(items: Item[]): Message[] {
  const messages: Message[] = []
  let open: Message | undefined
  const assistant = (item: Item, at: number): Message => {
    if (!open) {
      open = { id: typeof item['id'] === 'string' ? item['id'] : `msg_${at}`, role: 'assistant', parts: [] }
      messages.push(open)
    }
    return open
  }
  for (const [at, item] of items.entries()) {
    const content = item['content'] as { type: string; text?: string }[] | undefined
    if (item['type'] === 'message' && item['role'] === 'user') {
      open = undefined
      const text = (content ?? []).map(part => (part.type === 'input_text' ? (part.text ?? '') : '')).join('')
      if (text) messages.push({ id: String(item['id']), role: 'user', parts: [{ type: 'text', text }] })
    } else if (item['type'] === 'message' && item['role'] === 'assistant') {
      for (const part of content ?? [])
        if (part.type === 'output_text')
          assistant(item, at).parts.push({ type: 'text', text: part.text ?? '' })
    } else if (item['type'] === 'reasoning') {
      const summary = item['summary'] as { type: string; text: string }[]
      assistant(item, at).parts.push({ type: 'reasoning', text: summary.map(entry => entry.text).join('\n') })
    } else if (item['type'] === 'function_call' || item['type'] === 'custom_tool_call') {
      assistant(item, at).parts.push({
        type: 'tool_call',
        tool_name: String(item['name']),
        argument: String(item['arguments'] ?? item['input']),
        callId: String(item['call_id']),
      })
    } else if (item['type'] === 'function_call_output' || item['type'] === 'custom_tool_call_output') {
      const part = open?.parts.find(each => each.type === 'tool_call' && each.callId === item['call_id'])
      if (part?.type === 'tool_call') part.result = String(item['output'])
    }
  }
  return messages
}
