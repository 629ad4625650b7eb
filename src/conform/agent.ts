// The agent that stands behind a server while the suite runs: its model does what the suite asks for, and its tools touch
// nothing. A server of another make needs tools with these names, inputs and results; any model will do.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentConfig } from '../config/config.ts'
import type { Tool } from '../engine/ports/index.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { scripted } from '../models/scripted/index.ts'
import { tool } from '../tools/index.ts'
import { followWords } from './words.ts'

const textInput: JsonObject = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
}

export function conformAgent(): AgentConfig {
  return {
    name: 'conform',
    version: '1.0.0',
    description: 'Does what the conformance suite asks for.',
    model: scripted(followWords),
    tools: conformTools(),
    images: { http: true, data: true },
    responses: { serverTools: false },
    serveMcp: { tools: true, ask: true },
  }
}

/** As the schema has it. */
function wordsIn(input: JsonObject): string {
  const { text } = input
  return typeof text === 'string' ? text : ''
}

function conformTools(): Tool[] {
  return [
    tool({
      name: 'echo',
      description: 'Gives its text back.',
      input: textInput,
      readOnly: true,
      trust: 'trusted',
      run: input => `echo: ${wordsIn(input)}`,
    }),
    tool({
      name: 'send',
      description: 'Sends a text. A person is asked first.',
      input: textInput,
      trust: 'ask',
      run: input => `sent: ${wordsIn(input)}`,
    }),
    tool({
      name: 'wait',
      description: 'Waits for so many seconds, or until it is stopped.',
      input: { type: 'object', properties: { seconds: { type: 'number' } }, required: ['seconds'] },
      readOnly: true,
      trust: 'trusted',
      run: async (input, { signal }) => {
        await sleep(Number(input['seconds']) * 1000, undefined, { signal })
        return 'waited'
      },
    }),
    tool({
      name: 'fail',
      description: 'Fails.',
      input: { type: 'object', properties: {} },
      trust: 'trusted',
      run: () => {
        throw new Error('conform failed on purpose')
      },
    }),
  ]
}

/** A configuration file with this agent. */
export const conformConfig = `import { defineConfig } from 'turnwire'
import { conformAgent } from 'turnwire/testing'

export default defineConfig({
  data: 'memory',
  agents: [conformAgent()],
  server: { acp: true },
})
`
