// The owner's machine: the agent whose model answers. Any model may stand here, such as one of Ollama.
import { defineConfig, rehearsal } from 'turnwire'

export default defineConfig({
  agents: [{ name: 'ada', title: "Ada's agent", system: 'You answer briefly.', model: rehearsal() }],
})
