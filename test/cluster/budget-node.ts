// A node whose agents have budgets: those of test/crash/budgets.ts, where the budget of the owner asks. It is given the words of
// server.ts, and its first line is its address and process id.
import { startServer, Turnwire } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { announce } from '../announce.ts'
import { spenders } from '../crash/budgets.ts'

const [, , , url = '', schema = '', lease = ''] = process.argv
const turnwire = await Turnwire.open({
  ...spenders('ownerMonth'),
  data: postgresStore({ url, schema, connections: 4 }),
  server: { log: 'warn', cluster: { leaseMs: Number(lease) } },
})
const running = await startServer(turnwire, { port: 0 })
announce(`${running.url} ${process.pid}`)
