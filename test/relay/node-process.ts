// A node with a relay in a process of its own, for tests that kill it. It prints where it is served.

import { startServer } from '../../src/runtime/server.ts'
import { Turnwire } from '../../src/runtime/turnwire.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

const { url, schema, secret } = JSON.parse(process.argv[2] ?? '{}') as Record<string, string>
const turnwire = await Turnwire.open({
  agents: [],
  data: postgresStore({ url: url ?? '', schema: schema ?? '', connections: 4 }),
  server: { log: 'silent', cluster: { secret: secret ?? '', leaseMs: 3_000 } },
  relay: { owners: '*' },
})
const running = await startServer(turnwire, { port: 0 })
process.stdout.write(`${running.url}\n`)
