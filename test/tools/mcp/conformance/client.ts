// The client under test, in the test's own process: it does with our MCP client what each scenario of the suite waits for.
// A scenario is handed over by shim.mjs, which the suite starts.
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
} from '@modelcontextprotocol/client'
import type { Tool, ToolContext } from '../../../../src/engine/index.ts'
import type { Json, JsonObject } from '../../../../src/lib/json/index.ts'
import { contextFor } from '../../../../src/testing/contracts/tool.ts'
import { memoryAuthStore } from '../../../../src/tools/mcp/auth.ts'
import {
  type McpAuth,
  type McpConnection,
  type McpOptions,
  mcpServer,
} from '../../../../src/tools/mcp/index.ts'

export type Scenario = { url: string; scenario: string; version: string; context: JsonObject }

/** Gives the command for the suite. */
export async function listenForScenarios(): Promise<{ command: string; close(): void }> {
  const path = join(tmpdir(), `conformance-${process.pid}-${crypto.randomUUID().slice(0, 8)}.sock`)
  const server = createServer(socket => {
    let said = ''
    socket.setEncoding('utf8').on('error', () => {})
    socket.on('data', (text: string) => {
      said += text
      if (!said.endsWith('\n')) return
      play(JSON.parse(said) as Scenario).then(
        () => socket.end(),
        (error: unknown) => socket.end(String(error instanceof Error ? (error.stack ?? error) : error)),
      )
    })
  })
  await listening(server, path)
  const shim = new URL('./shim.mjs', import.meta.url).pathname
  return { command: `${process.execPath} ${shim} ${path}`, close: () => server.close() }
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => server.on('error', reject).listen(path, resolve))
}

const redirectUrl = 'http://127.0.0.1:9/callback'

/** A person who agrees at once: the suite's authorization servers redirect without asking. */
async function agree(url: URL): Promise<URLSearchParams> {
  const response = await fetch(url, { redirect: 'manual' })
  const location = response.headers.get('location')
  if (location === null) throw new Error(`The authorization server answered ${response.status}.`)
  return new URL(location, url).searchParams
}

function text(context: JsonObject, key: string): string | undefined {
  const value = context[key]
  return typeof value === 'string' ? value : undefined
}

/** An operator who registers a client knows where. The suite does not say it, so its server is asked. */
async function issuerOf(url: string): Promise<string> {
  const { resourceMetadataUrl } = extractWWWAuthenticateParams(await fetch(url, { method: 'POST' }))
  const { authorization_servers: [issuer] = [] } = await discoverOAuthProtectedResourceMetadata(url, {
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
  })
  if (issuer === undefined) throw new Error('The server names no authorization server.')
  return issuer
}

async function authOf({ scenario, context, url }: Scenario): Promise<McpAuth> {
  const clientId = text(context, 'client_id')
  const clientSecret = text(context, 'client_secret')
  const privateKey = text(context, 'private_key_pem')
  const algorithm = text(context, 'signing_algorithm')
  return {
    ...(clientId !== undefined && { clientId }),
    ...(clientSecret !== undefined && { clientSecret }),
    ...(privateKey !== undefined && { privateKey }),
    ...(algorithm !== undefined && { algorithm }),
    ...((clientSecret ?? privateKey) !== undefined && { issuer: await issuerOf(url) }),
    ...(scenario.startsWith('auth/client-credentials') && { grant: 'client_credentials' as const }),
    ...(scenario === 'auth/basic-cimd' && {
      clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    }),
  }
}

async function play(scenario: Scenario): Promise<void> {
  const { url, scenario: name, context } = scenario
  const options: McpOptions = {
    elicit: async question => ({
      action: 'accept',
      // Members without a default need a value; the others are left out, so that the defaults are applied.
      content: required(question as unknown as JsonObject),
    }),
    elicitModes: ['form', 'url'],
    roots: [{ uri: 'file:///tmp' }],
    sampling: {},
    ...(name.startsWith('auth/') && {
      auth: { store: memoryAuthStore(), person: { redirectUrl, authorize: agree } },
    }),
  }
  const connection = await mcpServer({ name: 'suite', url, auth: await authOf(scenario) }, options)
  try {
    const wanted = Array.isArray(context['toolCalls']) ? (context['toolCalls'] as JsonObject[]) : undefined
    if (name === 'json-schema-2020-12-preservation') await echoSchema(connection)
    else if (wanted)
      for (const call of wanted) await run(connection, text(call, 'name') ?? '', call['arguments'] ?? {})
    else await Promise.allSettled(connection.tools.map(tool => runTool(tool, sampleInput(tool))))
  } finally {
    await connection.close()
  }
}

function run(connection: McpConnection, name: string, input: Json): Promise<unknown> {
  const tool = connection.tools.find(each => each.name === `suite__${name}`)
  if (!tool) throw new Error(`${name} is not offered`)
  return runTool(tool, input)
}

/** Sends the schema of one tool back through the other. */
async function echoSchema({ tools }: McpConnection): Promise<void> {
  const isEcho = ({ input }: Tool): boolean =>
    input.form === 'json' && propertiesOf(input.schema)[0]?.[0] === 'schema'
  const [echo, rich] = [tools.find(isEcho), tools.find(tool => !isEcho(tool))]
  if (!echo || rich?.input.form !== 'json') throw new Error('The tools are not offered.')
  await runTool(echo, { schema: rich.input.schema })
}

async function runTool(tool: Tool, input: Json): Promise<unknown> {
  const context: ToolContext = contextFor({
    callId: crypto.randomUUID(),
    sample: async () => ({ text: 'An answer.', model: 'none', stop: 'end' }),
  })
  return tool.run(input, context)
}

function propertiesOf(schema: Json | undefined): [string, JsonObject][] {
  const object = schema as { properties?: Record<string, JsonObject> } | undefined
  return Object.entries(object?.properties ?? {})
}

const samples: Record<string, Json> = {
  string: 'text',
  number: 5,
  integer: 5,
  boolean: true,
  array: [],
  object: {},
}

function sampleOf(type: Json | undefined): Json | undefined {
  return typeof type === 'string' ? samples[type] : undefined
}

function sampleInput(tool: Tool): JsonObject {
  const schema = tool.input.form === 'json' ? tool.input.schema : {}
  const needed = (schema['required'] as string[] | undefined) ?? []
  return Object.fromEntries(
    propertiesOf(schema)
      .filter(([name]) => needed.includes(name))
      .map(([name, { type }]) => [name, sampleOf(type) ?? 'text']),
  )
}

function required(question: JsonObject): Record<string, string | number | boolean> {
  const schema = question['requestedSchema'] as JsonObject | undefined
  const needed = (schema?.['required'] as string[] | undefined) ?? []
  return Object.fromEntries(
    propertiesOf(schema)
      .filter(([name, member]) => needed.includes(name) && member['default'] === undefined)
      .map(([name, { type }]) => [name, sampleOf(type) as string]),
  )
}
