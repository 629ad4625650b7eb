// What clients of each wire send, as their own SDKs write it: what the fuzz starts from. `$SESSION`, `$RESPONSE`, `$THREAD`
// and `$CONNECTION` stand for ids that exist on the attacked server.
import type { Json, JsonObject } from '../../../src/lib/json/index.ts'

export type HttpRequest = {
  wire: string
  method: string
  path: string
  headers: Record<string, string>
  body?: JsonObject
}

const weather: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 1 }, days: { type: 'integer', minimum: 1, maximum: 14 } },
  required: ['city'],
  additionalProperties: false,
}
const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

const json = { 'content-type': 'application/json', accept: 'application/json' }
const openAi = {
  ...json,
  'user-agent': 'OpenAI/JS 7.55.0',
  'x-stainless-lang': 'js',
  'x-stainless-retry-count': '0',
}
const anthropic = {
  ...json,
  'anthropic-version': '2023-06-01',
  'anthropic-beta': 'token-counting-2024-11-01',
}

function post(
  wire: string,
  path: string,
  body: JsonObject,
  headers: Record<string, string> = json,
): HttpRequest {
  return { wire, method: 'POST', path, headers, body }
}
function get(wire: string, path: string, headers: Record<string, string> = { accept: '*/*' }): HttpRequest {
  return { wire, method: 'GET', path, headers }
}

const aap: HttpRequest[] = [
  get('aap', '/meta'),
  get('aap', '/aap/v2/meta'),
  get('aap', '/sessions?after=x'),
  post('aap', '/sessions', {
    agent: { name: 'helper', tools: [{ name: 'mail', trust: 'ask' }], options: { tone: 'dry' } },
    tools: [{ name: 'weather', description: 'The forecast.', inputSchema: weather }],
    messages: [
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
    ],
  }),
  post(
    'aap',
    '/sessions/$SESSION/turns',
    { stream: 'delta', messages: [{ role: 'user', content: [{ type: 'text', text: 'What now?' }] }] },
    { ...json, 'idempotency-key': 'key-1' },
  ),
  post('aap', '/sessions/$SESSION/turns', {
    stream: 'none',
    messages: [
      { role: 'tool', toolCallId: 'call_1', content: 'sunny' },
      { role: 'tool_permission', toolCallId: 'call_2', granted: true, reason: 'fine' },
    ],
    agent: { tools: [{ name: 'mail' }] },
    tools: [{ name: 'weather', description: 'The forecast.', inputSchema: weather }],
  }),
  post('aap', '/sessions/$SESSION/cancel', {}),
  get('aap', '/sessions/$SESSION'),
  get('aap', '/sessions/$SESSION/history?type=full'),
  get('aap', '/sessions/$SESSION/results/call_1'),
  get('aap', '/sessions/$SESSION/events?after=0', { accept: 'text/event-stream', 'last-event-id': '1' }),
  {
    wire: 'aap',
    method: 'PUT',
    path: '/aap/v1/session',
    headers: json,
    body: { agent: { name: 'helper' }, messages: [{ role: 'user', content: 'hello' }], stream: 'message' },
  },
  { wire: 'aap', method: 'DELETE', path: '/sessions/sess_none', headers: {} },
]

const responses: HttpRequest[] = [
  post(
    'responses',
    '/v1/responses',
    {
      model: 'helper',
      instructions: 'Be brief.',
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is on it?' },
            { type: 'input_image', image_url: pixel, detail: 'auto' },
          ],
        },
        { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Bern"}' },
        { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'none' },
      ],
      tools: [
        { type: 'function', name: 'weather', description: 'x', strict: true, parameters: weather },
        {
          type: 'custom',
          name: 'code',
          format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"+' },
        },
      ],
      tool_choice: { type: 'function', name: 'weather' },
      text: { format: { type: 'json_schema', name: 'answer', schema: weather } },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      parallel_tool_calls: false,
      max_output_tokens: 1000,
      metadata: { a: 'b' },
      store: false,
      stream: true,
    },
    openAi,
  ),
  post('responses', '/v1/responses', { model: 'helper', input: 'hello', store: true }, openAi),
  post(
    'responses',
    '/v1/responses',
    {
      model: 'helper',
      input: [
        { role: 'user', content: 'hi' },
        { type: 'configuration_update', reasoning: { effort: 'low' }, text: { format: { type: 'text' } } },
        { type: 'program', id: 'prg_1', call_id: 'p', code: 'x()', fingerprint: 'f' },
        {
          type: 'function_call',
          call_id: 'call_1',
          name: 'weather',
          arguments: '{}',
          caller: { type: 'program', caller_id: 'p' },
        },
        { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
        { type: 'program_output', id: 'pout_1', call_id: 'p', result: 'sunny', status: 'completed' },
        { role: 'user', content: 'And now?' },
      ],
      tools: [
        { type: 'function', name: 'weather', parameters: weather, allowed_callers: ['programmatic'] },
        { type: 'programmatic_tool_calling' },
      ],
      context_management: [],
      store: false,
    },
    openAi,
  ),
  post(
    'responses',
    '/v1/responses/helper',
    { input: 'go on', previous_response_id: '$RESPONSE', background: true, store: true },
    openAi,
  ),
  get('responses', '/v1/responses/$RESPONSE?stream=true&starting_after=1', openAi),
  get('responses', '/v1/responses/$RESPONSE/input_items?limit=2&order=asc&after=x', openAi),
  post('responses', '/v1/responses/$RESPONSE/cancel', {}, openAi),
  get('responses', '/v1/models', openAi),
  get('responses', '/v1/models/helper', openAi),
]

const chat: HttpRequest[] = [
  post(
    'chat',
    '/v1/chat/completions',
    {
      model: 'helper',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'hi' },
            { type: 'image_url', image_url: { url: pixel } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"x"}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
      ],
      tools: [{ type: 'function', function: { name: 'weather', description: 'x', parameters: weather } }],
      tool_choice: 'auto',
      response_format: { type: 'json_schema', json_schema: { name: 'n', schema: weather, strict: true } },
      temperature: 0.5,
      max_completion_tokens: 100,
      stop: ['x'],
      stream: true,
      stream_options: { include_usage: true },
    },
    openAi,
  ),
  post(
    'chat',
    '/v1/chat/completions',
    { model: 'helper', messages: [{ role: 'user', content: 'hi' }] },
    openAi,
  ),
]

const messagesBody: JsonObject = {
  model: 'helper',
  max_tokens: 1024,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'hi' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel.slice(22) } },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd' } },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'none' },
        { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'x' } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny', is_error: false }],
    },
  ],
  tools: [{ name: 'weather', description: 'x', input_schema: weather }],
  tool_choice: { type: 'auto', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 1024 },
  stop_sequences: ['x'],
  metadata: { user_id: 'u' },
  stream: true,
}
/** What only newer clients send. */
const newerBody: JsonObject = {
  model: 'helper',
  max_tokens: 100,
  messages: [
    {
      role: 'assistant',
      content: [
        {
          type: 'compaction',
          content: 'We met.',
          signature: 'none',
          tool_changes: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'bash' } }],
        },
        { type: 'fallback', from: { model: 'x' }, to: { model: 'y' }, trigger: null },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'search_result', source: 'x', title: 'x', content: [{ type: 'text', text: 'x' }] },
        {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'x' },
          citations: { enabled: true },
        },
      ],
    },
    {
      role: 'system',
      clear_at: 'never',
      output_config: { effort: 'low' },
      content: [
        { type: 'text', text: 'x' },
        {
          type: 'tool_addition',
          tool: { type: 'tool_definition', definition: { name: 'late', input_schema: weather } },
        },
        { type: 'tool_addition', tool: { type: 'tool_reference', name: 'weather' } },
      ],
    },
    { role: 'user', content: 'hi' },
  ],
  tools: [
    { name: 'weather', description: 'x', input_schema: weather, defer_loading: true },
    { type: 'bash_20250124', name: 'bash' },
    { type: 'memory_20250818', name: 'memory' },
  ],
  compaction: { type: 'summarize', instructions: 'Be brief.' },
  diagnostics: { previous_message_id: null },
  output_format: { type: 'json_schema', schema: weather },
  fallbacks: 'default',
}
const messages: HttpRequest[] = [
  post('messages', '/v1/messages?beta=true', messagesBody, anthropic),
  post('messages', '/v1/messages?beta=true', newerBody, anthropic),
  post('messages', '/v1/messages/count_tokens', messagesBody, anthropic),
  get('messages', '/v1/models', anthropic),
]

const geminiBody: JsonObject = {
  contents: [
    {
      role: 'user',
      parts: [{ text: 'hi' }, { inlineData: { mimeType: 'image/png', data: pixel.slice(22) } }],
    },
    {
      role: 'model',
      parts: [
        { functionCall: { id: 'f1', name: 'weather', args: { city: 'x' } }, thoughtSignature: 'bm9uZQ==' },
      ],
    },
    {
      role: 'user',
      parts: [{ functionResponse: { id: 'f1', name: 'weather', response: { output: 'sunny' } } }],
    },
  ],
  systemInstruction: { parts: [{ text: 'Be brief.' }] },
  tools: [
    {
      functionDeclarations: [
        {
          name: 'weather',
          description: 'x',
          parameters: { type: 'OBJECT', properties: { city: { type: 'STRING' } } },
        },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['weather'] } },
  generationConfig: {
    temperature: 1,
    maxOutputTokens: 100,
    responseMimeType: 'application/json',
    responseSchema: { type: 'OBJECT' },
    thinkingConfig: { includeThoughts: true },
  },
}
const gemini: HttpRequest[] = [
  post('gemini', '/v1beta/models/helper:streamGenerateContent?alt=sse', geminiBody),
  post('gemini', '/v1beta/models/helper:generateContent', geminiBody),
  post('gemini', '/v1/models/helper:generateContent', geminiBody),
  get('gemini', '/v1beta/models?pageSize=5'),
  get('gemini', '/v1/models?pageSize=5', { ...json, 'x-goog-api-client': 'google-genai-sdk/3.1.0' }),
  get('gemini', '/v1beta/models/helper'),
]

const deltakit: HttpRequest[] = [
  post('deltakit', '/api/chat', { message: 'hello', agent: 'helper' }),
  post('deltakit', '/api/chat/helper', { message: [{ type: 'text', text: 'hello' }], sessionId: '$SESSION' }),
  post('deltakit', '/api/chat/answer', {
    sessionId: '$SESSION',
    approvals: [{ call_id: 'call_1', approved: true, reason: 'fine' }],
    results: [{ call_id: 'call_2', result: 'sunny' }],
    stream: false,
  }),
  post('deltakit', '/api/sessions', {
    agent: 'helper',
    tools: [{ name: 'weather', description: 'x', parameters: weather }],
  }),
  post('deltakit', '/api/jobs', { message: 'hello', agent: 'helper' }),
  get('deltakit', '/api/history?sessionId=$SESSION'),
  get('deltakit', '/api/active-run?session_id=$SESSION'),
  get('deltakit', '/api/jobs/run_none'),
  get('deltakit', '/api/jobs/$SESSION.1/events?last_event_id=-1', { accept: 'text/event-stream' }),
]

const agui: HttpRequest[] = [
  post('agui', '/agui/helper', {
    threadId: '$THREAD',
    runId: 'run_1',
    state: { a: 1 },
    messages: [
      { id: 'm1', role: 'user', content: 'hello' },
      {
        id: 'm2',
        role: 'assistant',
        content: 'hm',
        toolCalls: [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
      },
      { id: 'm3', role: 'tool', toolCallId: 'call_1', content: 'sunny' },
    ],
    tools: [{ name: 'weather', description: 'x', parameters: weather }],
    context: [{ description: 'where', value: 'Bern' }],
    forwardedProps: { x: true },
    resume: [{ interruptId: 'call_1', status: 'resolved', payload: { approved: true } }],
  }),
]

const ui: HttpRequest[] = [
  post('ui', '/ui/helper', {
    id: '$THREAD',
    trigger: 'submit-message',
    messageId: 'm1',
    messages: [
      {
        id: 'm1',
        role: 'user',
        parts: [
          { type: 'text', text: 'hello' },
          { type: 'file', mediaType: 'image/png', url: pixel },
        ],
      },
      {
        id: 'm2',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          {
            type: 'tool-weather',
            toolCallId: 'call_1',
            state: 'output-available',
            input: { city: 'x' },
            output: 'sunny',
          },
          {
            type: 'tool-mail',
            toolCallId: 'call_2',
            state: 'approval-responded',
            input: {},
            approval: { id: 'a', approved: true },
          },
        ],
      },
    ],
    tools: [{ name: 'weather', description: 'x', inputSchema: weather }],
  }),
  get('ui', '/ui/helper/$THREAD/stream', { accept: 'text/event-stream' }),
]

// ---- ACP --------------------------------------------------------------------------------------------------------

export const initialize: JsonObject = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    clientInfo: { name: 'editor', version: '1.0.0' },
  },
}

function rpc(method: string, params: JsonObject, id: Json | undefined = 7): JsonObject {
  return { jsonrpc: '2.0', ...(id !== undefined && { id }), method, params }
}

/** `$SESSION` is one that the connection has open. */
export const acpMessages: readonly JsonObject[] = [
  initialize,
  rpc('authenticate', { methodId: 'environment' }),
  rpc('session/new', {
    cwd: '/tmp',
    mcpServers: [
      { name: 's', type: 'http', url: 'http://127.0.0.1:9/', headers: [{ name: 'a', value: 'b' }] },
    ],
  }),
  rpc('session/load', { sessionId: '$SESSION', cwd: '/tmp', mcpServers: [] }),
  rpc('session/resume', { sessionId: '$SESSION', cwd: '/tmp', mcpServers: [] }),
  rpc('session/list', { cwd: '/tmp', cursor: 'x' }),
  rpc('session/set_mode', { sessionId: '$SESSION', modeId: 'm' }),
  rpc('session/set_config_option', { sessionId: '$SESSION', configId: 'c', value: 'v' }),
  rpc('session/prompt', {
    sessionId: '$SESSION',
    prompt: [
      { type: 'text', text: 'hello', annotations: { audience: ['user'], priority: 1 } },
      { type: 'image', mimeType: 'image/png', data: pixel.slice(22) },
      { type: 'resource_link', uri: 'file:///tmp/x', name: 'x' },
      { type: 'resource', resource: { uri: 'file:///tmp/x', text: 'y', mimeType: 'text/plain' } },
    ],
  }),
  rpc('session/cancel', { sessionId: '$SESSION' }, undefined),
  rpc('$/cancel_request', { requestId: 7 }, undefined),
  rpc('_ext/unknown', { a: 1 }),
  { jsonrpc: '2.0', id: 3, result: { outcome: { outcome: 'selected', optionId: 'allow' } } },
  { jsonrpc: '2.0', id: 4, error: { code: -32000, message: 'no', data: {} } },
]

const acp: HttpRequest[] = acpMessages.map(message =>
  post('acp', '/acp', message, {
    ...json,
    ...(message === initialize ? {} : { 'acp-connection-id': '$CONNECTION', 'acp-session-id': '$SESSION' }),
  }),
)
acp.push(get('acp', '/acp', { accept: 'text/event-stream', 'acp-connection-id': '$CONNECTION' }))

// ---- MCP --------------------------------------------------------------------------------------------------------

const mcpHeaders = {
  ...json,
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
}
const mcp: HttpRequest[] = [
  post(
    'mcp',
    '/mcp/helper',
    rpc('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: {} },
      clientInfo: { name: 'client', version: '1.0.0' },
    }),
    mcpHeaders,
  ),
  post('mcp', '/mcp/helper', rpc('tools/list', { cursor: 'x' }), mcpHeaders),
  post('mcp', '/mcp/helper', rpc('tools/call', { name: 'give', arguments: { bytes: 5 } }), {
    ...mcpHeaders,
    'mcp-session-id': 'none',
  }),
  get('mcp', '/mcp/helper', { accept: 'text/event-stream' }),
]

// -----------------------------------------------------------------------------------------------------------------

export const httpRequests: readonly HttpRequest[] = [
  ...aap,
  ...responses,
  ...chat,
  ...messages,
  ...gemini,
  ...deltakit,
  ...agui,
  ...ui,
  ...acp,
  ...mcp,
]

export const deltakitFrames: readonly JsonObject[] = [
  { message: 'hello', agent: 'helper' },
  { message: 'hello', sessionId: '$SESSION' },
  { runId: '$SESSION.1', lastEventId: -1 },
  { runId: '$SESSION.1', message: 'more', lastEventId: 2 },
  { sessionId: '$SESSION', approvals: [{ call_id: 'call_1', approved: false }] },
  { sessionId: '$SESSION', results: [{ call_id: 'call_1', result: { a: [1] } }] },
]
