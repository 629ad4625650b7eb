// The shell passes the suite that every tool passes.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toolContract } from '../../../src/testing/index.ts'
import { shell } from '../../../src/tools/index.ts'
import { skip } from './bubblewrap.ts'

toolContract('the shell', scenario => {
  if (skip !== false) return { skip }
  if (scenario === 'refuses') return { skip: 'every line that fits the schema is given to bash' }
  if (scenario === 'wrong' || scenario === 'later')
    return { skip: 'it declares no schema, and answers at once' }
  const root = mkdtempSync(join(tmpdir(), 'turnwire-contract-'))
  const close = () => rmSync(root, { recursive: true, force: true })
  const made = (input: { commands: string[] }, says: string) => ({
    tool: shell({ root }),
    input,
    says,
    close,
  })
  switch (scenario) {
    case 'answers':
    case 'reports':
      return made({ commands: ['echo hello'] }, 'hello')
    case 'fails': {
      const tool = shell({ root, bubblewrap: '/no/such/bwrap' })
      return { tool, input: { commands: ['true'] }, says: 'bubblewrap', close }
    }
    case 'huge':
      // Each stream of a command has a limit of its own; many commands are more than the tool's limit.
      return made({ commands: Array.from({ length: 20 }, () => 'head -c 20000 /dev/zero | tr "\\0" x') }, '')
    case 'slow':
      return made({ commands: ['sleep 600'] }, '')
  }
})
