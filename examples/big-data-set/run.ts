// A model writes a program that reads 50,000 rows page by page and returns three numbers. The rows never reach the model.
import { scripted, Turnwire, tool } from 'turnwire'
import * as z from 'zod'

const size = 50_000
const readOrders = tool({
  name: 'read_orders',
  description: 'Orders, 1,000 a page, as { id, region, amount }.',
  input: z.object({ page: z.int().nonnegative() }),
  readOnly: true,
  trust: 'trusted',
  run: ({ page }) =>
    Array.from({ length: Math.max(0, Math.min(1000, size - page * 1000)) }, (_, index) => {
      const id = page * 1000 + index
      return { id, region: ['eu', 'us', 'asia'][id % 3], amount: (id % 100) + 1 }
    }),
})
const code = `
  const totals = {}
  for (let page = 0; ; page += 1) {
    const rows = await tools.read_orders({ page })
    if (rows.length === 0) break
    for (const { region, amount } of rows) totals[region] = (totals[region] ?? 0) + amount
  }
  return totals`
const model = scripted([{ calls: [{ name: 'run_code', input: { code } }] }, { text: 'Europe leads.' }])
const turnwire = await Turnwire.open({
  agents: [{ name: 'analyst', model, code: true, tools: [readOrders] }],
  data: 'memory',
})
const session = await turnwire.session('analyst')
const reply = await session.send('Which region sells most?')
const [result] = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
const [part] = result?.outcome.parts ?? []
const text = part?.type === 'text' ? part.text : ''
console.log(`the model read ${text.length} characters: ${text}`)
console.log(reply.text)
await turnwire.close()
