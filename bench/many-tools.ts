// P10 with many tools: the server starts as fast, and a schema costs nothing until a call needs it.
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Tool } from '../src/engine/index.ts'
import type { JsonObject } from '../src/lib/json/index.ts'
import { tool } from '../src/tools/index.ts'
import type { Trial, Variant } from './harness.ts'
import { begin, cycle, cycleModel, join, makeEngine, memoryStore, tempFolder } from './parts.ts'
import { startTurnwire } from './served.ts'

/** No two are alike, so that none is compiled for another. The first is the one that is called. */
const schemaOf = (index: number): JsonObject => ({
  type: 'object',
  properties: {
    a: { type: 'number' },
    b: { type: 'number', description: `The number ${index}.` },
    [`name_${index}`]: { type: 'string', minLength: 1, maxLength: 1000 + index },
    tags: { type: 'array', items: { enum: ['red', 'green', 'blue'] }, maxItems: 8 },
    where: {
      type: 'object',
      properties: { city: { type: 'string' }, zip: { type: 'string', pattern: '^[0-9]{5}$' } },
    },
  },
  required: ['a', 'b'],
})

export const toolsOf = (count: number): Tool[] =>
  Array.from({ length: count }, (_, index) =>
    tool({
      name: index === 0 ? 'add' : `tool_${index}`,
      description: `Does the thing of number ${index}.`,
      input: schemaOf(index),
      trust: 'trusted',
      exposed: false,
      run: () => 'done',
    }),
  )

/** Start to first answer with 5 tools and with 5,000. */
export async function startWithTools(): Promise<Trial> {
  const folder = tempFolder()
  const starting = (count: number): Variant => ({
    name: `with ${count.toLocaleString('en')} tools`,
    async run() {
      const env = { BENCH_TOOLS: String(count) }
      const served = await startTurnwire('many-tools.config.ts', join(folder.path, String(count)), env, [])
      await fetch(`${served.url}/health`)
      const ms = performance.now() - served.began
      await served.stop()
      return ms * 1000
    },
  })
  return {
    name: 'start to first answer (wall)',
    measure: 'told',
    units: 1,
    variants: [starting(5), starting(5000)],
    bars: [{ id: 'P10', ours: 'with 5,000 tools', floor: 'with 5 tools', most: 1.2 }],
    close: () => folder.remove(),
  }
}

/** A thousand tools declared, and a turn in which one of them is called; against compiling every schema beforehand. */
export async function thousandSchemas(): Promise<Trial> {
  const count = 1000
  return {
    name: '1,000 schemas (CPU)',
    measure: 'cpu',
    units: 1,
    rounds: 5,
    variants: [
      {
        name: 'eager ajv',
        run() {
          const ajv = new Ajv2020({ strict: false, allErrors: true })
          return Array.from({ length: count }, (_, index) => ajv.compile(schemaOf(index))).length
        },
      },
      {
        name: 'turnwire, and one of them called',
        run: async () => cycle(await begin(makeEngine(memoryStore(), cycleModel(), toolsOf(count)))),
      },
    ],
    bars: [{ id: 'P10', ours: 'turnwire, and one of them called', floor: 'eager ajv', most: 0.05 }],
  }
}
