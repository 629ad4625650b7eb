// An agent that says what it has heard, and whose call runs until it is stopped.
import { defineConfig, scripted, tool } from '../../src/index.ts'

const slow = tool({
  name: 'slow',
  description: 'Runs until it is stopped.',
  input: { type: 'object' },
  trust: 'trusted',
  readOnly: true,
  run: (_input, { signal }) =>
    new Promise(resolve => signal.addEventListener('abort', () => resolve('stopped'))),
})

const model = scripted(({ history }) => {
  const last = history.at(-1)
  const said = last?.role === 'user' && last.parts[0]?.type === 'text' ? last.parts[0].text : ''
  return said === 'Go' ? { calls: [{ name: 'slow' }] } : { text: `heard ${said}` }
})

export default defineConfig({ agents: [{ name: 'listener', model, tools: [slow] }] })
