// The Model Context Protocol, revision 2025-11-25, as a client sees a server: over HTTP, or over the pipes of a command.
import { type Broken, type Check, hold, joinTexts, list, need, parsed, pick, text } from '../check.ts'
import { RpcTrial } from '../rpc.ts'
import { type Answer, Trial } from '../trial.ts'
import { newWord } from '../words.ts'

const revision = '2025-11-25'
const hello = {
  protocolVersion: revision,
  capabilities: {},
  clientInfo: { name: 'turnwire-conform', version: '1' },
}

/** One connection to a server. */
export class McpTrial {
  readonly line: Trial | RpcTrial
  #session: string | undefined
  #version: string | undefined
  #lastId = 0

  constructor(line: Trial | RpcTrial) {
    this.line = line
  }

  get sent(): string {
    return this.line.sent
  }

  get got(): string {
    return this.line.got
  }

  get session(): string | undefined {
    return this.#session
  }

  get http(): Trial {
    need(this.line instanceof Trial, 'This is about HTTP.')
    return this.line
  }

  failure(error: unknown): Broken {
    return this.line.failure(error)
  }

  async close(): Promise<void> {
    if (this.line instanceof RpcTrial) return this.line.close()
    if (this.#session !== undefined) await this.send('', { method: 'DELETE' }).catch(() => undefined)
  }

  async request(method: string, params: unknown = {}): Promise<unknown> {
    if (this.line instanceof RpcTrial) return this.line.request(method, params)
    this.#lastId += 1
    const answer = await this.send({ jsonrpc: '2.0', id: this.#lastId, method, params })
    this.#session ??= answer.headers.get('mcp-session-id') ?? undefined
    return messageIn(answer, this.#lastId)
  }

  async notify(method: string): Promise<void> {
    if (this.line instanceof RpcTrial) await this.line.notify(method, {})
    else await this.send({ jsonrpc: '2.0', method })
  }

  async send(body: unknown, more: { method?: string; session?: string } = {}): Promise<Answer> {
    const session = more.session ?? this.#session
    return this.http.ask('', {
      ...(body !== '' && { body }),
      ...(more.method !== undefined && { method: more.method }),
      headers: {
        accept: 'application/json, text/event-stream',
        ...(session !== undefined && { 'mcp-session-id': session }),
        ...(this.#version !== undefined && { 'mcp-protocol-version': this.#version }),
      },
    })
  }

  async initialize(params: object = hello): Promise<unknown> {
    const result = pick(await this.request('initialize', params), 'result')
    this.#version = text(result, 'protocolVersion') || undefined
    if (result !== undefined) await this.notify('notifications/initialized')
    return result
  }
}

function messageIn(answer: Answer, id: number): unknown {
  if (!answer.type.startsWith('text/event-stream')) return answer.json
  return answer.events.find(event => pick(event, 'id') === id && pick(event, 'method') === undefined)
}

async function listTools(at: McpTrial): Promise<unknown[]> {
  const result = await at.initialize()
  need(pick(result, 'capabilities', 'tools') !== undefined, 'The server has no tools.')
  const answer = await at.request('tools/list')
  hold(Array.isArray(pick(answer, 'result', 'tools')), 'tools, a list')
  return list(answer, 'result', 'tools')
}

/** The tool echo takes one text, whatever it is called. */
async function echoInput(at: McpTrial, word: string): Promise<Record<string, string>> {
  const echo = (await listTools(at)).find(tool => text(tool, 'name') === 'echo')
  need(echo !== undefined, 'The server has no tool with the name echo.')
  const [member = 'text'] = list(echo, 'inputSchema', 'required').map(String)
  return { [member]: word }
}

function isFailure(answer: unknown): boolean {
  return pick(answer, 'result', 'isError') === true || pick(answer, 'error', 'code') === -32602
}

const base: readonly Check<McpTrial>[] = [
  {
    id: 'MCP-INIT-01',
    clause: 'initialize answers with protocolVersion, capabilities and serverInfo.',
    async run(at) {
      const result = await at.initialize()
      hold(text(result, 'protocolVersion') !== '', 'protocolVersion')
      hold(typeof pick(result, 'capabilities') === 'object', 'capabilities')
      hold(
        text(result, 'serverInfo', 'name') !== '' && text(result, 'serverInfo', 'version') !== '',
        'serverInfo',
      )
    },
  },
  {
    id: 'MCP-INIT-02',
    clause: 'A revision that the server does not know is answered with one that it has.',
    async run(at) {
      const result = await at.initialize({ ...hello, protocolVersion: '1999-01-01' })
      const version = text(result, 'protocolVersion')
      hold(/^20\d\d-\d\d-\d\d$/.test(version), 'a revision of the protocol', version || undefined)
    },
  },
  {
    id: 'MCP-BASE-01',
    clause: 'ping is answered with an empty result.',
    async run(at) {
      await at.initialize()
      hold(JSON.stringify(pick(await at.request('ping'), 'result')) === '{}', 'the result {}')
    },
  },
  {
    id: 'MCP-BASE-02',
    clause: 'An unknown method is -32601.',
    async run(at) {
      await at.initialize()
      hold(pick(await at.request('no/such/method'), 'error', 'code') === -32601, 'the code -32601')
    },
  },
  {
    id: 'MCP-BASE-03',
    clause: 'An answer has the version 2.0 and the id of its request.',
    async run(at) {
      const answer = await at.request('initialize', hello)
      hold(
        text(answer, 'jsonrpc') === '2.0' && typeof pick(answer, 'id') === 'number',
        'jsonrpc 2.0 and the id',
      )
    },
  },
  {
    id: 'MCP-HTTP-01',
    clause: 'A notification is answered with 202 and no body.',
    async run(at) {
      await at.initialize()
      const answer = await at.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
      hold(answer.status === 202 && answer.body === '', 'status 202 and no body')
    },
  },
  {
    id: 'MCP-HTTP-02',
    clause: 'A body that is no JSON is 400 with the code -32700.',
    async run(at) {
      await at.initialize()
      const answer = await at.send('{"jsonrpc": "2.0", "id": 1, "met')
      hold(answer.status === 400 && pick(parsed(answer.body), 'error', 'code') === -32700, '400 and -32700')
    },
  },
  {
    id: 'MCP-HTTP-03',
    clause: 'A session that the server does not know is 404.',
    async run(at) {
      await at.initialize()
      need(at.session !== undefined, 'The server has no sessions.')
      const answer = await at.send({ jsonrpc: '2.0', id: 9, method: 'ping' }, { session: 'no-such-session' })
      hold(answer.status === 404, 'status 404')
    },
  },
]

const tools: readonly Check<McpTrial>[] = [
  {
    id: 'MCP-TOOL-01',
    clause: 'A listed tool has a name and an inputSchema of the type object.',
    async run(at) {
      const found = await listTools(at)
      const isWhole = (tool: unknown): boolean =>
        text(tool, 'name') !== '' && text(tool, 'inputSchema', 'type') === 'object'
      hold(found.length > 0 && found.every(isWhole), 'name and inputSchema of each')
    },
  },
  {
    id: 'MCP-TOOL-02',
    clause: 'The names of tools are unique.',
    async run(at) {
      const names = (await listTools(at)).map(tool => text(tool, 'name'))
      hold(new Set(names).size === names.length, 'each name once', names)
    },
  },
  {
    id: 'MCP-TOOL-03',
    clause: 'tools/call answers with content, a list of blocks.',
    async run(at) {
      const word = newWord()
      const input = await echoInput(at, word)
      const answer = await at.request('tools/call', { name: 'echo', arguments: input })
      const content = list(answer, 'result', 'content')
      hold(content.length > 0 && content.every(block => text(block, 'type') !== ''), 'blocks with a type')
      hold(joinTexts(content, 'text').includes(word), `a text with ${word}`)
    },
  },
  {
    id: 'MCP-TOOL-04',
    clause: 'A call of an unknown tool is an error, or a result with isError.',
    async run(at) {
      await listTools(at)
      const answer = await at.request('tools/call', { name: 'no_such_tool', arguments: {} })
      hold(isFailure(answer) || pick(answer, 'error', 'code') === -32601, 'an error or isError')
    },
  },
  {
    id: 'MCP-TOOL-05',
    clause: 'Arguments that do not fit the schema are an error, or a result with isError.',
    async run(at) {
      await echoInput(at, '')
      hold(isFailure(await at.request('tools/call', { name: 'echo', arguments: {} })), 'an error or isError')
    },
  },
  {
    id: 'MCP-TOOL-06',
    clause: 'A tool that fails gives a result with isError and words.',
    async run(at) {
      const names = (await listTools(at)).map(tool => text(tool, 'name'))
      need(names.includes('fail'), 'The server has no tool with the name fail.')
      const answer = await at.request('tools/call', { name: 'fail', arguments: {} })
      hold(pick(answer, 'result', 'isError') === true, 'isError')
      hold(text(answer, 'result', 'content', 0, 'text') !== '', 'words')
    },
  },
]

export const mcpChecks: readonly Check<McpTrial>[] = [...base, ...tools]
