// An agent whose tool takes effect and never answers, says what became of it when it is asked a second time, and can undo it.
import { defineConfig, scripted, tool } from '../../src/index.ts'

let asked = 0

const pay = tool({
  name: 'pay',
  description: 'Pays an invoice.',
  input: { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] },
  trust: 'trusted',
  timeoutMs: 100,
  run: () => new Promise(() => {}),
  reconcile: () => {
    asked += 1
    return asked < 3 ? 'unknown' : { ran: { paid: 5 } }
  },
  undo: () => 'The bank has given it back.',
})

export default defineConfig({
  agents: [
    {
      name: 'payer',
      model: scripted([{ calls: [{ name: 'pay', input: { sum: 5 } }] }, { text: 'Over.' }], {
        whenOver: 'repeat-last',
      }),
      tools: [pay],
    },
  ],
})
