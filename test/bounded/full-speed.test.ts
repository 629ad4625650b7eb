// A client that reads at full speed gets the whole of what a turn makes at once, however large, up to the protocol's own
// end. On the wires whose tools run at the client, the calls themselves are as large.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Attacked, attacked, MiB, script } from './attack-rig.ts'

/** `atLeast`: characters of the stream where the server runs the tools. */
const attacks: Record<string, { words: string; atLeast: number; isServers?: true }> = {
  '64 results of 64 KiB': {
    words: script({ calls: [{ name: 'give', input: { bytes: 64 * 1024 } }], repeat: 64 }),
    atLeast: 4 * MiB,
    isServers: true,
  },
  'a picture of 4.5 MB beside a small call': {
    words: script({
      calls: [
        { name: 'picture', input: { bytes: 4_500_000 } },
        { name: 'give', input: { bytes: 10 } },
      ],
    }),
    atLeast: 0,
    isServers: true,
  },
  '64 calls with 64 KiB of arguments': {
    words: script({ calls: [{ name: 'take' }], fill: 64 * 1024, repeat: 64 }),
    atLeast: 4 * MiB,
  },
  'a call with 9 MB of arguments': {
    words: script({ calls: [{ name: 'take' }], fill: 9_000_000 }),
    atLeast: 9_000_000,
  },
}

type Wire = {
  request: (words: string, server: Attacked) => Promise<{ path: string; body: unknown }>
  end: RegExp
  /** The client runs the tools, and the answer ends with the calls. */
  isClients?: true
  /** Results are told in another way than whole. */
  isBrief?: true
}

const take = { type: 'object', properties: { n: { type: 'integer' }, text: { type: 'string' } } }
const said = (content: string) => [{ role: 'user', content }]
let threads = 0

const wires: Record<string, Wire> = {
  AAP: {
    request: async (words, server) => ({
      path: `/sessions/${await server.session()}/turns`,
      body: { messages: said(words), stream: 'delta' },
    }),
    end: /event: turn_stop\ndata: .*\n\n$/,
  },
  Responses: {
    request: async input => ({ path: '/v1/responses', body: { model: 'helper', input, stream: true } }),
    end: /\ndata: \[DONE\]\n\n$/,
    isBrief: true,
  },
  Chat: {
    request: async words => ({
      path: '/v1/chat/completions',
      body: {
        model: 'helper',
        messages: said(words),
        stream: true,
        tools: [{ type: 'function', function: { name: 'take', parameters: take } }],
      },
    }),
    end: /"finish_reason":"tool_calls"[\s\S]*data: \[DONE\]\n\n$/,
    isClients: true,
  },
  Messages: {
    request: async words => ({
      path: '/v1/messages',
      body: {
        model: 'helper',
        max_tokens: 1000,
        messages: said(words),
        stream: true,
        tools: [{ name: 'take', input_schema: take }],
      },
    }),
    end: /event: message_stop\ndata: .*\n\n$/,
    isClients: true,
  },
  Gemini: {
    request: async text => ({
      path: '/v1beta/models/helper:streamGenerateContent?alt=sse',
      body: {
        contents: [{ role: 'user', parts: [{ text }] }],
        tools: [{ functionDeclarations: [{ name: 'take', parametersJsonSchema: take }] }],
      },
    }),
    end: /"finishReason":"STOP"[^\n]*\s*$/,
    isClients: true,
  },
  DeltaKit: {
    request: async message => ({ path: '/api/chat', body: { message, agent: 'helper' } }),
    end: /data: \[DONE\]\n\n$/,
    isBrief: true,
  },
  'AG-UI': {
    request: async content => ({
      path: '/agui/helper',
      body: {
        threadId: `thread_${++threads}`,
        runId: 'run_1',
        state: {},
        messages: [{ id: 'm1', role: 'user', content }],
        tools: [],
        context: [],
        forwardedProps: {},
      },
    }),
    end: /"type":"RUN_FINISHED".*\n\n$/,
  },
  'UI stream': {
    request: async text => ({
      path: '/ui/helper',
      body: {
        id: `chat_${++threads}`,
        trigger: 'submit-message',
        messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text }] }],
      },
    }),
    end: /"type":"finish".*\n\ndata: \[DONE\]\n\n$/,
  },
}

test('a reader at full speed gets the whole stream on every wire', async t => {
  const server = await attacked(t)
  for (const [name, { request, end, isClients, isBrief }] of Object.entries(wires))
    for (const [attack, { words, atLeast, isServers }] of Object.entries(attacks)) {
      if (isServers && isClients) continue
      // Responses does not show the call of 9 MB; its stream ends as it should.
      const isUnshown = isBrief && (isServers || (name === 'Responses' && atLeast === 9_000_000))
      await t.test(`${name}: ${attack}`, async () => {
        const { status, text } = await server.send(await request(words, server))
        assert.equal(status, 200, text.slice(0, 500))
        assert.match(text.slice(-3_000), end, text.slice(-300))
        if (!isUnshown) assert.ok(text.length > atLeast, `${text.length} characters`)
        if (!isClients) assert.match(text, /Done\./)
        if (name === 'Responses') assert.match(text, /event: response\.completed\n/)
      })
    }
  assert.doesNotMatch(server.log, /did not read/)
})
