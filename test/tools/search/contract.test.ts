// The search passes what every tool must do.
import { toolContract } from '../../../src/testing/contracts/tool.ts'
import { findTools } from '../../../src/tools/search/index.ts'

toolContract('the search for tools', scenario => {
  if (scenario !== 'answers')
    return { skip: 'it looks in memory: it neither fails, waits, refuses nor reports' }
  return { tool: findTools(), input: { query: 'anything' }, says: 'No tool fits' }
})
