// A coding agent for an editor: it reads the folder by itself, and shows each change before it is made. CODE_ROOT is the project.
import { defineConfig, rehearsal, workspace } from 'turnwire'

const root = process.env['CODE_ROOT'] ?? process.cwd()

export default defineConfig({
  agents: [
    {
      name: 'coder',
      title: 'Coder',
      system: 'You change code in small steps. Read before you edit.',
      model: rehearsal(), // anthropic({ model: 'claude-sonnet-4-6' }) in earnest
      tools: workspace({ root }),
    },
  ],
  policy: {
    rules: [{ tool: 'delete_file', then: 'deny', reason: 'Files are deleted by people.' }],
    redact: ['secrets'],
  },
})
