// The search for tools passes what every tool must do.
import type { Tool, ToolContext } from '../../../src/engine/ports/index.ts'
import { untilAborted } from '../../../src/lib/async/abort.ts'
import { toolContract } from '../../../src/testing/contracts/tool.ts'
import { tool } from '../../../src/tools/index.ts'
import { type FindToolsOptions, findTools } from '../../../src/tools/search/index.ts'

const invoice = tool({
  name: 'create_invoice',
  description: 'Writes an invoice for a customer.',
  input: { type: 'object' },
  run: () => '',
})

/** The search in a session that has one tool. `fetch` is what the embedder is asked with. */
function searching(options: FindToolsOptions, fetch?: ToolContext['fetch']): Tool {
  const search = findTools(options)
  const tools: ToolContext['tools'] = {
    shared: [invoice],
    find: name => (name === invoice.name ? invoice : undefined),
  }
  return {
    ...search,
    run: (input, context) =>
      search.run(input, { ...context, signal: context.signal, tools, ...(fetch && { fetch }) }),
  }
}

const embedder = { url: 'https://embedder.example/v1/embeddings', model: 'small' }

toolContract('the search for tools', scenario => {
  const input = { query: 'write an invoice' }
  switch (scenario) {
    case 'answers':
      return {
        tool: searching({}),
        input,
        says: '- create_invoice: Writes an invoice',
        invalid: '{"query":7}',
      }
    case 'slow': {
      // An embedder that does not answer within the time that the search gives it.
      const hangs: ToolContext['fetch'] = (_url, init) =>
        untilAborted(new Promise<never>(() => {}), init?.signal ?? new AbortController().signal)
      return { tool: searching({ embedder: { ...embedder, timeoutMs: 600_000 } }, hangs), input }
    }
    case 'fails':
      return { skip: 'it looks in memory; without its embedder, words alone rank: search.test.ts' }
    case 'refuses':
      return { skip: 'every text can be searched for' }
    case 'huge':
      return { skip: 'it shows at most 20 tools with 300 characters of each' }
    case 'reports':
      return { skip: 'it has no steps that could be shown' }
    default:
      return { skip: 'it promises no form of its result, which comes when its call ends' }
  }
})
