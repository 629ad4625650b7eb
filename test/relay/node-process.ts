// A node with a relay in a process of its own, for tests that kill or stop it. It prints where it is served.

import { Turnwire } from '../../src/library/turnwire.ts'
import { startServer } from '../../src/server/server.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { announce } from '../announce.ts'
import type { Database, NodeOptions } from './nodes-rig.ts'

// The test that started it wrote this.
const { url, schema, secret, config } = JSON.parse(process.argv[2] ?? '{}') as Database & {
  secret: string
  config: NodeOptions
}
const { relay, payments, keys } = config
const turnwire = await Turnwire.open({
  agents: [],
  data: postgresStore({ url, schema, connections: 4 }),
  server: { log: 'silent', cluster: { secret, leaseMs: 3_000 }, ...(keys && { keys }) },
  relay: { owners: '*', ...relay },
  ...(payments && { payments }),
})
const running = await startServer(turnwire, { port: 0 })
process.on('SIGTERM', () => void running.stop().then(() => process.exit(0)))
announce(running.url)
