// A client of the Agent Application Protocol, versions 1 to 3, that knows the protocol's text and nothing else. It decides what
// to send from one turn's stream, or, without memory, from the session and its history alone. It also holds the server to
// the protocol: a call is shown once, has one result, and its result follows it, unless the client granted the call before.
import assert from 'node:assert/strict'
import { parseSse } from './rig.ts'

type Server = { request(method: string, path: string, body?: unknown): Promise<Response> }
type Block = { type: string; toolCallId: string; name: string; input: unknown; text?: string }
type Message = { role: string; content?: string | Block[]; toolCallId?: string; granted?: boolean }
type Turn = { stop: string; messages: Message[] }
type Call = Pick<Block, 'toolCallId' | 'name' | 'input'>
type Answering = { runTool(call: Call): string; isGranted(call: Call): boolean }

export type Version = 1 | 2 | 3
export type Mode = 'delta' | 'message' | 'none'

const toolSpec = (version: Version) => ({
  name: 'clipboard',
  description: 'Text on the clipboard',
  [version === 3 ? 'parameters' : 'inputSchema']: { type: 'object', properties: {} },
})

export class ProtocolClient {
  readonly #version: Version
  readonly #mode: Mode
  readonly #answering: Answering
  at: Server
  session = ''
  /** What a client keeps of the conversation: what it sent and what it was sent, but for permissions. */
  readonly transcript: Message[] = []
  /** Every permission that it was made to ask its user for, by the name of the tool. */
  readonly asked: string[] = []
  readonly #shown = new Set<string>()
  readonly #granted = new Set<string>()
  readonly #results = new Set<string>()

  constructor(at: Server, version: Version, mode: Mode, answering: Answering) {
    this.at = at
    this.#version = version
    this.#mode = mode
    this.#answering = answering
  }

  get #base(): string {
    return `/aap/v${this.#version}`
  }

  async start(words: string, serverTools: object[]): Promise<Turn> {
    const agent = { name: 'helper', tools: serverTools }
    const tools = [toolSpec(this.#version)]
    const user = { role: 'user', content: words }
    if (this.#version !== 3)
      return this.#take([user], 'PUT', '/session', { agent, tools, messages: [user], stream: this.#mode })
    const made = await this.at.request('POST', `${this.#base}/sessions`, { agent, tools })
    assert.equal(made.status, 201)
    this.session = ((await made.json()) as { sessionId: string }).sessionId
    return this.send([user])
  }

  async send(messages: Message[]): Promise<Turn> {
    const path = this.#version === 3 ? `/sessions/${this.session}/turns` : `/session/${this.session}`
    return this.#take(messages, 'POST', path, { messages, stream: this.#mode })
  }

  async #take(sent: Message[], method: string, path: string, body: object): Promise<Turn> {
    this.transcript.push(...sent.filter(({ role }) => role !== 'tool_permission'))
    const answer = await this.at.request(method, `${this.#base}${path}`, body)
    const text = await answer.text()
    assert.ok(answer.ok, `${answer.status} ${text} for ${JSON.stringify(body)}`)
    const turn = this.#mode === 'none' ? this.#answer(text) : this.#stream(text)
    this.#check(turn)
    this.transcript.push(...turn.messages)
    return turn
  }

  #answer(text: string): Turn {
    const { sessionId, stopReason, messages } = JSON.parse(text) as {
      sessionId?: string
      stopReason: string
      messages: Message[]
    }
    if (sessionId !== undefined) this.session = sessionId
    return { stop: stopReason, messages }
  }

  #stream(text: string): Turn {
    const messages: Message[] = []
    let blocks: Block[] = []
    let stop = 'error'
    const close = (): void => {
      if (blocks.length > 0) messages.push({ role: 'assistant', content: blocks })
      blocks = []
    }
    for (const { event, data } of parseSse(text)) {
      const given = data as Record<string, string>
      if (event === 'session_start') this.session = given['sessionId']!
      if (event === 'text_delta' || event === 'text') {
        const words = given['delta'] ?? given['text']!
        const last = blocks.at(-1)
        if (last?.type === 'text') last.text += words
        else blocks.push({ type: 'text', text: words } as Block)
      }
      if (event === 'tool_call') blocks.push({ type: 'tool_use', ...given } as unknown as Block)
      if (event === 'tool_result') {
        close()
        messages.push({ role: 'tool', ...given } as Message)
      }
      if (event === 'turn_stop') stop = given['stopReason']!
    }
    close()
    return { stop, messages }
  }

  #check({ messages }: Turn): void {
    const here = new Set<string>()
    for (const { role, content, toolCallId = '' } of messages) {
      if (role === 'tool') {
        assert.ok(
          here.has(toolCallId) || this.#granted.has(toolCallId),
          `${toolCallId} has a result, but no call`,
        )
        assert.ok(!this.#results.has(toolCallId), `${toolCallId} has two results`)
        this.#results.add(toolCallId)
        continue
      }
      for (const { toolCallId: id } of callsIn(content)) {
        assert.ok(!this.#shown.has(id), `the call ${id} is shown twice`)
        this.#shown.add(id)
        here.add(id)
      }
    }
  }

  /** The answers to all calls of a turn that have no result. */
  fromStream({ messages }: Turn): Message[] {
    const calls = messages.flatMap(({ role, content }) => (role === 'assistant' ? callsIn(content) : []))
    const settled = new Set(messages.flatMap(({ role, toolCallId }) => (role === 'tool' ? [toolCallId] : [])))
    return this.#answers(
      calls.filter(({ toolCallId }) => !settled.has(toolCallId)),
      ['clipboard'],
    )
  }

  /** The same for a client that knows only the id of its session. */
  async fromHistory(type: 'full' | 'compacted' = 'full'): Promise<Message[]> {
    const at = `${this.#base}/${this.#version === 3 ? 'sessions' : 'session'}/${this.session}`
    const [info, shown] = await Promise.all(
      [at, this.#version === 1 ? `${at}?history=${type}` : `${at}/history?type=${type}`].map(
        async path => (await (await this.at.request('GET', path)).json()) as Record<string, unknown>,
      ),
    )
    const messages = (shown!['history'] as Record<string, Message[]>)[type]!
    const last = messages.findLast(({ role }) => role === 'assistant')
    const settled = new Set(messages.flatMap(({ role, toolCallId }) => (role === 'tool' ? [toolCallId] : [])))
    const own = ((info!['tools'] ?? []) as { name: string }[]).map(({ name }) => name)
    return this.#answers(
      callsIn(last?.content).filter(({ toolCallId }) => !settled.has(toolCallId)),
      own,
    )
  }

  #answers(calls: Call[], own: string[]): Message[] {
    return calls.map(call => {
      const { toolCallId, name } = call
      if (own.includes(name)) return { role: 'tool', toolCallId, content: this.#answering.runTool(call) }
      this.asked.push(name)
      const granted = this.#answering.isGranted(call)
      this.#granted.add(toolCallId)
      return { role: 'tool_permission', toolCallId, granted }
    })
  }

  /** Answers until the turn has ended, each time to a server that was restarted if `restart` is given. */
  async finish(
    turn: Turn,
    memory: 'stream' | 'full' | 'compacted',
    restart?: () => Promise<Server>,
  ): Promise<Turn> {
    let now = turn
    while (now.stop === 'tool_use') {
      if (restart) this.at = await restart()
      const answers = memory === 'stream' ? this.fromStream(now) : await this.fromHistory(memory)
      assert.ok(answers.length > 0, 'the turn waits for the client, and shows nothing that does')
      now = await this.send(answers)
    }
    return now
  }
}

function callsIn(content: Message['content']): Block[] {
  return Array.isArray(content) ? content.filter(({ type }) => type === 'tool_use') : []
}
