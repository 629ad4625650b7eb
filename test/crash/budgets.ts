// The process that gets killed: a server whose agent gives a task to another agent, under budgets of which one asks. Each
// answer of a model costs 1. Run as `node budgets.ts <folder>`; the file `asks` in the folder names the budget that asks. Its
// first line is its address.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TurnwireConfig } from '../../src/config/config.ts'
import { agentTool, scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import type { BudgetName } from '../../src/language/events.ts'
import { announce } from '../announce.ts'

const usage = { input: 90, output: 10, cost: 1 }

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object' },
  readOnly: true,
  trust: 'trusted',
  run: () => 'seen',
})

/** What is spent when `asks` is reached: two steps and one of the other agent. One more step follows. */
export const reached = 3
export const total = 4

/** A turn of four answers. `asks`: the budget that is spent after three of them. */
export function spenders(asks: BudgetName): Pick<TurnwireConfig, 'agents' | 'budgets'> {
  const wide = { money: 100 }
  return {
    agents: [
      {
        name: 'helper',
        tools: [look, agentTool('writer', { description: 'Writes.', trust: 'trusted' })],
        model: scripted(({ history }) => {
          const steps = history.filter(({ role }) => role === 'assistant').length
          if (steps === 0) return { calls: [{ name: 'look' }], usage }
          if (steps === 1) return { calls: [{ name: 'ask_writer', input: { task: 'Write.' } }], usage }
          return { text: 'All done.', usage }
        }),
      },
      { name: 'writer', model: scripted(() => ({ text: 'Written.', usage })) },
    ],
    budgets: { session: wide, agentDay: wide, ownerMonth: wide, [asks]: { money: reached, then: 'ask' } },
  }
}

export function openSpenders(folder: string): Promise<Turnwire> {
  const asks = readFileSync(join(folder, 'asks'), 'utf8') as BudgetName // The test wrote it.
  return Turnwire.open({ ...spenders(asks), data: folder, server: { log: 'error' } })
}

const folder = process.argv[2]
if (process.argv[1] === import.meta.filename && folder !== undefined) {
  const { url } = await startServer(await openSpenders(folder), { port: 0 })
  announce(url)
}
