// The agent that the application asks for as its model. A real model takes the place of the rehearsal.
import { defineConfig, rehearsal } from 'turnwire'

export default defineConfig({ agents: [{ name: 'helper', model: rehearsal() }] })
