// The agent of the fuzz over a pipe.
import { defineConfig, scripted, tool } from '../../../src/index.ts'

export default defineConfig({
  agents: [
    {
      name: 'helper',
      model: scripted(() => ({ text: 'Done.' })),
      tools: [
        tool({ name: 'mail', description: 'x', input: { type: 'object' }, trust: 'ask', run: () => 'sent' }),
      ],
      options: [{ name: 'c', type: 'select', default: 'v', options: ['v', 'w'] }],
    },
  ],
  server: { log: 'info' },
})
