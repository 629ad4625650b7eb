// The process that gets killed: a server that takes payments, on SQLite or as a node on PostgreSQL. Run as
// `node shop-server.ts <folder>`, with the rest in SHOP as JSON; its first line is its address. Each request to the model
// leaves a line in the file `asked`, and its answer says the how many-eth it is.
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { scripted, startServer, Turnwire, type TurnwireConfig } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { announce } from '../announce.ts'

const [folder = ''] = process.argv.slice(2)
const { payments, price, keys, database } = JSON.parse(process.env['SHOP'] ?? '{}') as {
  payments: NonNullable<TurnwireConfig['payments']>
  price: NonNullable<TurnwireConfig['agents'][number]['price']>
  keys: NonNullable<NonNullable<TurnwireConfig['server']>['keys']>
  database?: { url: string; schema: string; secret: string; leaseMs: number }
}

const turnwire = await Turnwire.open({
  agents: [
    {
      name: 'helper',
      model: scripted(() => {
        appendFileSync(join(folder, 'asked'), 'asked\n')
        const times = readFileSync(join(folder, 'asked'), 'utf8').split('\n').length - 1
        return { text: `Hello. For the ${times}. time.`, usage: { input: 100, output: 50 } }
      }),
      price,
    },
  ],
  payments,
  server: {
    log: 'error',
    keys,
    ...(database && { cluster: { secret: database.secret, leaseMs: database.leaseMs } }),
  },
  data: database ? postgresStore({ url: database.url, schema: database.schema, connections: 4 }) : folder,
})
const { url } = await startServer(turnwire, { port: 0 })
announce(url)
