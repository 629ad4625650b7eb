// The process that gets killed: a server on SQLite that takes payments. Run as `node shop-server.ts <folder>`, with the rest
// in SHOP as JSON; its first line is its address. Each request to the model leaves a line in the file `asked`.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { scripted, startServer, Turnwire, type TurnwireConfig } from '../../src/index.ts'

const [folder = ''] = process.argv.slice(2)
const { payments, price, keys } = JSON.parse(process.env['SHOP'] ?? '{}') as {
  payments: NonNullable<TurnwireConfig['payments']>
  price: NonNullable<TurnwireConfig['agents'][number]['price']>
  keys: NonNullable<NonNullable<TurnwireConfig['server']>['keys']>
}

const turnwire = await Turnwire.open({
  agents: [
    {
      name: 'helper',
      model: scripted(() => {
        appendFileSync(join(folder, 'asked'), 'asked\n')
        return { text: 'Hello.', usage: { input: 100, output: 50 } }
      }),
      price,
    },
  ],
  payments,
  server: { log: 'error', keys },
  data: folder,
})
const { url } = await startServer(turnwire, { port: 0 })
process.stdout.write(`${url}\n`)
