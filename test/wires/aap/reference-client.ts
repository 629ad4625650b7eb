// A client of the Agent Application Protocol, version 3, written from the protocol's text and the published SDK's
// behaviour, and from nothing of ours: it parses events as the WHATWG says, rebuilds messages from them, finds the calls
// that wait for it, and takes a 404 on a session as "there is none". If it works here, applications do.

export type Block =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string }
  | { type: 'image'; url: string }
  | { type: 'tool_use'; toolCallId: string; name: string; input: Record<string, unknown> }
export type Content = string | Block[]
export type Message =
  | { role: 'system' | 'user' | 'assistant'; content: Content }
  | { role: 'tool'; toolCallId: string; content: Content }
  | { role: 'tool_permission'; toolCallId: string; granted: boolean; reason?: string }
export type ToolSpec = { name: string; title?: string; description: string; parameters: object }
export type AgentConfig = {
  name: string
  tools?: { name: string; trust?: boolean }[]
  options?: Record<string, string>
}
export type SessionInfo = { sessionId: string; agent: AgentConfig; tools?: ToolSpec[] }
export type TurnEvent = { event: string } & Record<string, unknown>
export type Answer = { stopReason: string; messages: Message[] }
type Call = Extract<Block, { type: 'tool_use' }>

export class ClientError extends Error {
  readonly method: string
  readonly path: string
  readonly status: number
  constructor(method: string, path: string, status: number, message: string) {
    super(message)
    this.method = method
    this.path = path
    this.status = status
  }
}

// ---- WHATWG server-sent events ------------------------------------------------------------------------------

export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<TurnEvent> {
  let buffer = ''
  let type = ''
  let data: string[] = []
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    buffer += decoder.decode(chunk, { stream: true })
    for (;;) {
      // A CR at the end of what is here may be the first half of a CRLF.
      const end = /\r\n|\n|\r(?!$)/.exec(buffer)
      if (!end) break
      const line = buffer.slice(0, end.index)
      buffer = buffer.slice(end.index + end[0].length)
      if (line === '') {
        if (data.length > 0) yield { event: type || 'message', ...JSON.parse(data.join('\n')) }
        type = ''
        data = []
        continue
      }
      if (line.startsWith(':')) continue
      const colon = line.indexOf(':')
      const field = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (field === 'event') type = value
      else if (field === 'data') data.push(value)
    }
  }
}

/** The messages of a turn, from its events. */
export class Rebuilder {
  readonly messages: Message[] = []
  stopReason: string | undefined
  #blocks: Block[] = []
  #text = ''
  #thinking = ''

  take(event: TurnEvent): void {
    if (this.stopReason !== undefined) throw new Error(`${event.event} came after turn_stop`)
    if (event.event === 'text_delta') {
      this.#text += String(event['delta'])
      return
    }
    if (event.event === 'thinking_delta') {
      this.#thinking += String(event['delta'])
      return
    }
    this.#flush()
    switch (event.event) {
      case 'text':
        this.#blocks.push({ type: 'text', text: String(event['text']) })
        break
      case 'thinking':
        this.#blocks.push({ type: 'thinking', thinking: String(event['thinking']) })
        break
      case 'tool_call': {
        const { event: _, ...call } = event
        this.#blocks.push({ type: 'tool_use', ...call } as Call)
        break
      }
      case 'tool_result':
        this.#close()
        this.messages.push({
          role: 'tool',
          toolCallId: String(event['toolCallId']),
          content: event['content'] as Content,
        })
        break
      case 'turn_stop':
        this.stopReason = String(event['stopReason'])
        this.#close()
        break
    }
  }

  get answer(): Answer {
    return { stopReason: this.stopReason ?? 'error', messages: this.messages }
  }

  #flush(): void {
    if (this.#text !== '') this.#blocks.push({ type: 'text', text: this.#text })
    if (this.#thinking !== '') this.#blocks.push({ type: 'thinking', thinking: this.#thinking })
    this.#text = ''
    this.#thinking = ''
  }

  #close(): void {
    if (this.#blocks.length > 0) this.messages.push({ role: 'assistant', content: this.#blocks })
    this.#blocks = []
  }
}

/** The calls of the last assistant message that have no result, told apart by name alone. */
export function resolvePendingToolUse(
  messages: readonly Message[],
  clientTools: readonly ToolSpec[],
): { client: Call[]; server: Call[] } {
  const last = messages.findLast(message => message.role === 'assistant')
  const answered = new Set(messages.flatMap(message => (message.role === 'tool' ? [message.toolCallId] : [])))
  const blocks = last?.role === 'assistant' && Array.isArray(last.content) ? last.content : []
  const open = blocks.filter(
    (block): block is Call => block.type === 'tool_use' && !answered.has(block.toolCallId),
  )
  const mine = (call: Call): boolean => clientTools.some(tool => tool.name === call.name)
  return { client: open.filter(mine), server: open.filter(call => !mine(call)) }
}

// ---- the client ---------------------------------------------------------------------------------------------

export class ReferenceClient {
  readonly #base: string
  readonly #headers: Record<string, string>

  constructor(base: string, headers: Record<string, string> = {}) {
    this.#base = base.replace(/\/$/, '')
    this.#headers = headers
  }

  async getMeta(): Promise<{ version: number; agents: Record<string, unknown>[] }> {
    const meta = (await (await this.#fetch('GET', '/meta')).json()) as { version: number; agents: [] }
    if (meta.version !== 3) throw new Error(`the server speaks version ${meta.version}`)
    return meta
  }

  async createSession(body: unknown): Promise<string> {
    const answer = await this.#fetch('POST', '/sessions', body)
    return ((await answer.json()) as { sessionId: string }).sessionId
  }

  async listSessions(after?: string): Promise<{ sessions: SessionInfo[]; next?: string }> {
    const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`
    return (await (await this.#fetch('GET', `/sessions${query}`)).json()) as { sessions: SessionInfo[] }
  }

  getSession(id: string): Promise<SessionInfo | undefined> {
    return this.#orNone<SessionInfo>('GET', `/sessions/${id}`)
  }

  async getHistory(id: string, type: 'compacted' | 'full'): Promise<Message[] | undefined> {
    const found = await this.#orNone<{ history: Record<string, Message[]> }>(
      'GET',
      `/sessions/${id}/history?type=${type}`,
    )
    return found?.history[type]
  }

  async deleteSession(id: string): Promise<void> {
    await this.#orNone('DELETE', `/sessions/${id}`)
  }

  /** Undefined: there is no such session. */
  async sendTurn(id: string, body: { messages: Message[]; stream?: string }): Promise<Answer | undefined> {
    const path = `/sessions/${id}/turns`
    if (body.stream === undefined || body.stream === 'none') return this.#orNone<Answer>('POST', path, body)
    const answer = await this.#send('POST', path, body, { accept: 'text/event-stream' })
    if (answer.status === 404) return undefined
    if (!answer.ok) throw new ClientError('POST', path, answer.status, await answer.text())
    const rebuilt = new Rebuilder()
    for await (const event of events(answer.body!)) rebuilt.take(event)
    return rebuilt.answer
  }

  async #orNone<T>(method: string, path: string, body?: unknown): Promise<T | undefined> {
    const answer = await this.#send(method, path, body)
    if (answer.status === 404 || answer.status === 204) {
      await answer.arrayBuffer()
      return undefined
    }
    if (!answer.ok) throw new ClientError(method, path, answer.status, await answer.text())
    return (await answer.json()) as T
  }

  async #fetch(method: string, path: string, body?: unknown): Promise<Response> {
    const answer = await this.#send(method, path, body)
    if (!answer.ok) throw new ClientError(method, path, answer.status, await answer.text())
    return answer
  }

  #send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return fetch(`${this.#base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...this.#headers, ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  }
}

/** How an application acts on `tool_use`: its own tools it runs, of the others it is asked whether they may. */
export type Hands = {
  run(call: Call): string
  decide(call: Call): { granted: boolean; reason?: string }
}

/** One conversation: what the SDK's session object does, with the loop that applications write around it. */
export class Conversation {
  readonly client: ReferenceClient
  readonly id: string
  readonly messages: Message[]
  readonly #tools: readonly ToolSpec[]
  readonly #stream: string

  constructor(client: ReferenceClient, info: SessionInfo, messages: Message[], stream: string) {
    this.client = client
    this.id = info.sessionId
    this.#tools = info.tools ?? []
    this.messages = messages
    this.#stream = stream
  }

  async send(...messages: Message[]): Promise<Answer> {
    this.messages.push(...messages)
    const answer = await this.client.sendTurn(this.id, { messages, stream: this.#stream })
    if (!answer) throw new Error('the session is gone')
    this.messages.push(...answer.messages)
    return answer
  }

  /** What the application owes the server now. */
  pending(hands: Hands): Message[] {
    const { client, server } = resolvePendingToolUse(this.messages, this.#tools)
    return [
      ...client.map(
        (call): Message => ({ role: 'tool', toolCallId: call.toolCallId, content: hands.run(call) }),
      ),
      ...server.map(
        (call): Message => ({ role: 'tool_permission', toolCallId: call.toolCallId, ...hands.decide(call) }),
      ),
    ]
  }

  /** Goes on until the model has nothing more to ask. */
  async settle(answer: Answer, hands: Hands): Promise<Answer> {
    let last = answer
    while (last.stopReason === 'tool_use') last = await this.send(...this.pending(hands))
    return last
  }
}

/** A client with no memory of its own finds everything on the server. */
export async function resume(
  client: ReferenceClient,
  id: string,
  type: 'compacted' | 'full',
  stream: string,
): Promise<Conversation | undefined> {
  await client.getMeta()
  const info = await client.getSession(id)
  const history = info && (await client.getHistory(id, type))
  return info && history && new Conversation(client, info, history, stream)
}
