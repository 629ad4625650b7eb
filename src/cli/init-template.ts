// The configuration that `turnwire init` writes, and the vendors that it can name.

/** `model`: the default name of its model. Undefined: it has none. `variable`: where its key is read from. */
export type InitVendor = { about: string; make: string; model?: string; variable?: string }

export type InitChoice = { vendor: string; model: string; agent: string }

export const initVendors: Readonly<Record<string, InitVendor>> = {
  rehearsal: { about: 'no key, no network: to try everything', make: 'rehearsal' },
  anthropic: {
    about: 'Anthropic Messages',
    make: 'anthropic',
    model: 'claude-sonnet-4-6',
    variable: 'ANTHROPIC_API_KEY',
  },
  openai: { about: 'OpenAI Responses', make: 'openai', model: 'gpt-5.2', variable: 'OPENAI_API_KEY' },
  gemini: { about: 'Google Gemini', make: 'gemini', model: 'gemini-3-pro', variable: 'GEMINI_API_KEY' },
  openrouter: {
    about: 'many vendors through OpenRouter',
    make: 'openrouter',
    model: 'anthropic/claude-sonnet-4.6',
    variable: 'OPENROUTER_API_KEY',
  },
  ollama: { about: 'a model on this machine, with Ollama', make: 'ollama', model: 'qwen3' },
}

export function configTemplate({ vendor, model, agent }: InitChoice): string {
  const { make = 'rehearsal', variable } = initVendors[vendor] ?? {}
  const call = model === '' ? `${make}()` : `${make}({ model: ${codeQuoted(model)} })`
  return text
    .replace('__IMPORTS__', ['defineConfig', make, 'tool'].sort().join(', '))
    .replace('__AGENT__', codeQuoted(agent))
    .replace('__MODEL_NOTE__', model === '' ? rehearsalNote : keyNote(variable))
    .replace('__MODEL__', call)
}

function codeQuoted(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

const rehearsalNote = `// No key needed. A real model is made by its provider, such as anthropic({ model: 'claude-sonnet-4-6' }), imported
      // from 'turnwire' too; its key comes from the environment or from .env beside this file, here ANTHROPIC_API_KEY.`

function keyNote(variable: string | undefined): string {
  return variable === undefined
    ? '// It needs no key. rehearsal() in its place needs no model either.'
    : `// Its key comes from the environment, or from .env beside this file: ${variable}. rehearsal() in its place needs none.`
}

const text = `// The configuration of Turnwire. It is TypeScript that is run as it is: no build, and your editor knows the types.
import { __IMPORTS__ } from 'turnwire'

const lookUpOrder = tool({
  name: 'look_up_order',
  // What the model reads to decide when to call it.
  description: 'The state of an order, by its number.',
  // JSON Schema, or a schema of zod or any other Standard Schema library; then \`run\` is typed by it.
  input: {
    type: 'object',
    properties: { order: { type: 'integer', minimum: 1, description: 'The number of the order.' } },
    required: ['order'],
    additionalProperties: false,
  },
  // It changes nothing, so it may run again after a crash.
  readOnly: true,
  // Only your own system writes what it returns. Without this its results count as someone else's text.
  flow: { output: 'trusted' },
  // 'trusted': runs without asking. 'ask': someone must allow each call. 'deny': never.
  trust: 'trusted',
  run: ({ order }) => \`Order \${order} was packed this morning.\`,
})

const cancelOrder = tool({
  name: 'cancel_order',
  description: 'Cancels an order. This cannot be undone.',
  input: {
    type: 'object',
    properties: { order: { type: 'integer', minimum: 1 } },
    required: ['order'],
    additionalProperties: false,
  },
  run: ({ order }) => \`Order \${order} is cancelled.\`,
})

export default defineConfig({
  agents: [
    {
      name: __AGENT__,
      title: 'Order clerk',
      system: 'You answer questions about orders. Look them up; never guess.',
      __MODEL_NOTE__
      model: __MODEL__,
      tools: [lookUpOrder, cancelOrder],
      // After a tool returned text that outsiders wrote, a call that acts asks, unless its arguments come from the user.
      flow: 'warrants',
    },
  ],
  policy: {
    // The first rule that fits decides; after the last, the trust of the tool does.
    rules: [{ tool: 'cancel_*', then: 'ask', reason: 'Cancelling cannot be undone.' }],
    // Whatever looks like a credential is taken out of results before a model reads them.
    redact: ['secrets'],
  },
  // Tools of MCP servers, by the name of the server: { command, args } or { url }.
  // mcp: { files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] } },
  // server: { port: 4117, origins: ['https://app.example'] },
  // Sessions live in .turnwire; 'memory' keeps nothing.
  // data: '.turnwire',
})
`
