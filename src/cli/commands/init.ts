// Writes a configuration to start from. It overwrites nothing and asks nothing.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import type { CliCommand } from '../command.ts'
import { self, UsageError } from '../command.ts'
import { styles, wantsColour } from '../style.ts'

export const init: CliCommand = {
  name: 'init',
  usage: '[folder]',
  about:
    'Writes turnwire.config.ts into the folder (default: this one): one agent, two tools, a policy, all explained.',
  options: {},
  words: 1,
  run({ words: [folder = '.'] }) {
    const file = join(resolve(folder), 'turnwire.config.ts')
    if (existsSync(file))
      throw new UsageError(
        `${file} exists and is left as it is. Choose another folder: turnwire init <folder>`,
      )
    mkdirSync(resolve(folder), { recursive: true })
    // `wx`: a file that has appeared meanwhile is left as it is.
    writeFileSync(file, template, { flag: 'wx' })
    process.stdout.write(nextSteps(folder, relative(process.cwd(), file) || file))
    return Promise.resolve(0)
  },
}

function nextSteps(folder: string, file: string): string {
  const { bold } = styles(wantsColour(process.stdout))
  const enter = resolve(folder) === process.cwd() ? '' : `cd ${folder} && `
  return `Wrote ${file}.

  ${bold(`${enter}${self} chat`)}    talk to it in the terminal
  ${bold(`${enter}${self} serve`)}   serve it over HTTP

It runs without a key, on a model that has no weights. Put a real one in its place when you like: the file says where.
`
}

const template = `// The configuration of Turnwire. It is TypeScript that is run as it is: no build, and your editor knows the types.
import { defineConfig, rehearsal, tool } from 'turnwire'

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
      name: 'clerk',
      title: 'Order clerk',
      system: 'You answer questions about orders. Look them up; never guess.',
      // No key needed. A real model is made by its provider, such as anthropic({ model: 'claude-sonnet-4-5' }), imported
      // from 'turnwire' too; its key comes from the environment, here ANTHROPIC_API_KEY.
      model: rehearsal(),
      tools: [lookUpOrder, cancelOrder],
    },
  ],
  policy: {
    // The first rule that fits decides; after the last, the trust of the tool does.
    rules: [{ tool: 'cancel_*', then: 'ask', reason: 'Cancelling cannot be undone.' }],
    // Whatever looks like a credential is taken out of results before a model reads them.
    redact: ['secrets'],
  },
  // server: { port: 4117, origins: ['https://app.example'] },
  // Sessions live in .turnwire; 'memory' keeps nothing.
  // data: '.turnwire',
})
`
