// A tool loop over `/v1/responses`: the application runs every tool, and the whole conversation goes along with each request,
// so the server keeps nothing. For applications that speak the OpenAI Responses protocol without OpenAI's SDK.
import { isJsonObject, type Json, type JsonObject, parseObject } from '../lib/json/index.ts'
import { decodeSse } from '../lib/net/sse.ts'
import { AapError } from './errors.ts'
import { type ClientTool, runClientTool } from './run-client-tool.ts'
import { type ClientOptions, Transport } from './transport.ts'
import { textOfContent } from './types.ts'

export type ResponsesTool = {
  description: string
  parameters: JsonObject
  run: ClientTool
  /** Default 60,000. */
  timeoutMs?: number
}

export type ResponsesOptions = {
  /** An agent, or a configured model. */
  model: string
  /** The user's message, or any input items. */
  input: string | JsonObject[]
  tools?: Readonly<Record<string, ResponsesTool>>
  instructions?: string
  /** Further fields of each request, such as `tool_choice` or `text`. */
  body?: JsonObject
  onText?: (delta: string) => void
  onCall?: (call: { name: string; input: JsonObject }) => void
  signal?: AbortSignal
  /** The most requests of one run. Default 50. */
  rounds?: number
}

/** `items`: the whole conversation, to go on from: `input: [...items, { role: 'user', content }]`. */
export type ResponsesResult = { text: string; items: JsonObject[]; status: string }

/** Runs until the model has answered without asking for a tool. */
export async function runResponses(
  client: ClientOptions,
  options: ResponsesOptions,
): Promise<ResponsesResult> {
  const transport = new Transport(client)
  const { input, tools = {}, rounds = 50, signal = new AbortController().signal } = options
  const items: JsonObject[] = typeof input === 'string' ? [{ role: 'user', content: input }] : [...input]
  for (let round = 1; ; round += 1) {
    const { output, status } = await ask(transport, options, items, round > 1)
    items.push(...output)
    const calls = output.filter(({ type }) => type === 'function_call')
    if (calls.length === 0 || round >= rounds) return { text: outputText(output), items, status }
    const results = calls.map(call => runCall(call, tools, signal, options.onCall))
    items.push(...(await Promise.all(results)))
  }
}

/** A demanded call was made: demanded again, it would keep the model from answering. */
function requestBody({ body = {} }: ResponsesOptions, called: boolean): JsonObject {
  if (!called) return body
  const { tool_choice: _, ...rest } = body
  return rest
}

async function ask(
  transport: Transport,
  options: ResponsesOptions,
  items: readonly JsonObject[],
  called: boolean,
): Promise<{ output: JsonObject[]; status: string }> {
  const { model, tools = {}, instructions, onText, signal } = options
  const declared = Object.entries(tools).map(([name, { description, parameters }]) => ({
    type: 'function',
    name,
    description,
    parameters,
  }))
  const response = await transport.request({
    method: 'POST',
    path: '/v1/responses',
    accept: 'text/event-stream',
    body: {
      ...requestBody(options, called),
      model,
      input: items,
      stream: true,
      store: false,
      ...(declared.length > 0 && { tools: declared }),
      ...(instructions !== undefined && { instructions }),
    },
    signal,
    repeatable: false,
  })
  for await (const { data } of decodeSse(response.body ?? new ReadableStream())) {
    if (data === '[DONE]') break
    const event: unknown = JSON.parse(data)
    if (!isJsonObject(event)) continue
    const { type, delta } = event
    if (type === 'response.output_text.delta' && typeof delta === 'string') onText?.(delta)
    if (type === 'response.failed' || type === 'error') throw toAapError(event)
    if (type === 'response.completed' || type === 'response.incomplete') return readFinal(event['response'])
  }
  throw new AapError(0, 'connection_lost', 'The stream ended before the response was complete. Ask again.')
}

function readFinal(response: Json | undefined): { output: JsonObject[]; status: string } {
  if (response === undefined || !isJsonObject(response) || !Array.isArray(response['output']))
    throw new AapError(0, 'unexpected_answer', 'The last event has no response.')
  const { output, status } = response
  return { output: output.filter(isJsonObject), status: typeof status === 'string' ? status : 'completed' }
}

/** The error stands in the event, or in the response of the event. */
function toAapError(event: JsonObject): AapError {
  const response = event['response']
  const holder = response !== undefined && isJsonObject(response) ? response : event
  const error = holder['error']
  const { message, code } = error !== undefined && isJsonObject(error) ? error : event
  return new AapError(
    0,
    typeof code === 'string' ? code : 'model_failed',
    typeof message === 'string' ? message : 'The response failed.',
  )
}

async function runCall(
  call: JsonObject,
  tools: Readonly<Record<string, ResponsesTool>>,
  signal: AbortSignal,
  onCall: ResponsesOptions['onCall'],
): Promise<JsonObject> {
  const [name, id, text] = [call['name'], call['call_id'], call['arguments']].map(given =>
    typeof given === 'string' ? given : '',
  ) as [string, string, string] // As many as were given.
  const output = async (): Promise<string> => {
    const tool = Object.hasOwn(tools, name) ? tools[name] : undefined
    if (!tool) return `There is no tool named "${name}".`
    const input = parseObject(text)
    if (!input) return 'The arguments are not a JSON object. Call the tool again with one.'
    onCall?.({ name, input })
    const asked = { toolCallId: id, name, input }
    const { content } = await runClientTool(tool.run, asked, signal, tool.timeoutMs ?? 60_000)
    return textOfContent(content)
  }
  return { type: 'function_call_output', call_id: id, output: await output() }
}

function outputText(output: readonly JsonObject[]): string {
  const contents = output.flatMap(({ type, content }) =>
    type === 'message' && Array.isArray(content) ? content : [],
  )
  return contents
    .flatMap(part => (isJsonObject(part) && typeof part['text'] === 'string' ? [part['text']] : []))
    .join('')
}
