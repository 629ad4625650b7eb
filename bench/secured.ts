// P17: one cycle with what an operator switches on for safety, against the same cycle without: a policy of twenty rules, of which
// the last decides, a rate, a rule in code, and redaction of secrets in arguments and results.
import { createGate, type PolicyRule } from '../src/policy/index.ts'
import type { Trial, Variant } from './harness.ts'
import { begin, cycle, cycleModel, makeEngine, memoryStore } from './parts.ts'

const rules: PolicyRule[] = [
  ...Array.from(
    { length: 16 },
    (_, at): PolicyRule => ({ tool: [`db_${at}_*`, `mail_${at}`], then: 'deny' }),
  ),
  { destructive: true, then: 'ask', reason: 'It cannot be undone.' },
  { tool: 'add', rate: { calls: 10_000, perMs: 1 }, then: 'deny' },
  { tool: 'add', when: ({ input }) => JSON.stringify(input).includes('forbidden'), then: 'deny' },
  { tool: 'a*', then: 'allow' },
]
const ownPattern = { name: 'customer', pattern: /\bC-\d{8}\b/ }

export async function securedCycles(): Promise<Trial> {
  const cycles = 2000
  const variant = (name: string, gate = createGate()): Variant => {
    const engine = makeEngine(memoryStore(), cycleModel(), undefined, gate)
    return {
      name,
      async run() {
        const session = await begin(engine)
        for (let index = 0; index < cycles; index += 1) await cycle(session)
        await engine.remove('bench', session.id)
      },
    }
  }
  const [plain, secured] = ['without', 'policy of 20 rules, redaction']
  return {
    name: 'one cycle in memory with everything that security needs (CPU)',
    measure: 'cpu',
    units: cycles,
    rounds: 15,
    warmUps: 5,
    variants: [variant(plain), variant(secured, createGate({ rules, redact: ['secrets', ownPattern] }))],
    bars: [{ id: 'P17', ours: secured, floor: plain, most: 1.25 }],
  }
}
