// A relay with an agent of its own.
import { defineConfig, scripted } from '../../src/index.ts'

export default defineConfig({
  agents: [{ name: 'helper', model: scripted([{ text: 'Hello.' }], { whenOver: 'repeat-last' }) }],
  relay: { owners: '*' },
})
