// Search among many tools: how long the first result takes, against looking at every tool, and what the index weighs.
import type { Tool } from '../src/engine/index.ts'
import { contextFor } from '../src/testing/contracts/tool.ts'
import { tool } from '../src/tools/index.ts'
import { findTools } from '../src/tools/search/index.ts'
import { limit, type Result, runTrial } from './harness.ts'

const count = 5_000
const verbs = 'create list update delete search export archive share assign approve'.split(' ')
const things = 'invoice ticket contact document calendar event payment order report branch'.split(' ')

const toolsOf = (): Tool[] =>
  Array.from({ length: count }, (_, index) => {
    const [verb, thing] = [verbs[index % 10]!, things[Math.floor(index / 10) % 10]!]
    return tool({
      name: `service_${Math.floor(index / 100)}__${verb}_${thing}`,
      description: `${verb} a ${thing} of the service number ${Math.floor(index / 100)}. Use it when a person asks to ${verb} one; it needs the id of the ${thing} and gives the new state back.`,
      input: { type: 'object', properties: { id: { type: 'string' }, note: { type: 'string' } } },
      trust: 'trusted',
      run: () => 'done',
    })
  })

const question = 'approve the payment of service 31'

export async function firstResult(): Promise<Result> {
  const tools = toolsOf()
  const byName = new Map(tools.map(each => [each.name, each]))
  const context = contextFor({
    tools: { shared: tools, find: name => byName.get(name) },
  })
  const search = findTools()
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers
  // The main thread's: V8 compiles and collects garbage in others.
  const began = process.threadCpuUsage()
  search.warm(tools)
  const built = process.threadCpuUsage(began)
  globalThis.gc?.()
  const bytes = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - before
  const firstBegan = process.threadCpuUsage()
  await search.run({ query: question }, context)
  const first = process.threadCpuUsage(firstBegan)
  const result = await runTrial({
    name: `a search among ${count.toLocaleString('en')} tools (CPU)`,
    measure: 'cpu',
    units: 50,
    variants: [
      {
        name: 'a look at every description',
        run: () => {
          const words = question.split(' ')
          let found = 0
          for (let round = 0; round < 50; round++)
            found += tools
              .map(({ name, description }) => {
                const text = `${name} ${description}`.toLowerCase()
                return words.filter(word => text.includes(word)).length
              })
              .sort((one, other) => other - one)[0]!
          return found
        },
      },
      {
        name: 'turnwire',
        run: async () => {
          for (let round = 0; round < 50; round++) await search.run({ query: question }, context)
        },
      },
    ],
    bars: [{ id: 'search', ours: 'turnwire', floor: 'a look at every description', most: 1 }],
  })
  const ms = (usage: NodeJS.CpuUsage): number => (usage.user + usage.system) / 1000
  console.log(
    `  index of ${count} tools: ${ms(built).toFixed(0)} ms CPU, ${(bytes / 1024 / 1024).toFixed(1)} MiB`,
  )
  result.bars.push(
    limit('search', 'the first result', ms(first), 5, 'ms'),
    limit('search', 'the index', bytes / 1024 / 1024, 32, 'MiB'),
  )
  return result
}
