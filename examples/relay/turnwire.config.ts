// The relay: it has no agent of its own, and passes requests on to machines that attach.
import { defineConfig } from 'turnwire'

export default defineConfig({
  agents: [],
  // Every wallet may attach an agent. List the owners' addresses in place of '*' to choose.
  relay: { owners: '*' },
})
