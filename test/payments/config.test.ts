// What an operator wrote about payments is checked before anything runs, and without it nothing of payments is loaded.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { scripted, startServer, Turnwire, type TurnwireConfig } from '../../src/index.ts'

const wallet = '0x1111111111111111111111111111111111111111'
const good = {
  network: 'eip155:8453',
  asset: { address: wallet, name: 'USD Coin', version: '2' },
  payTo: wallet,
  facilitator: { url: 'https://facilitator.example' },
}

const configOf = (payments: unknown, price: unknown): TurnwireConfig =>
  ({
    agents: [{ name: 'helper', model: scripted([{ text: 'Hi' }]), price }],
    payments,
    data: 'memory',
  }) as TurnwireConfig // Mistakes among them.

const wrong: [why: RegExp, payments: unknown, price: unknown][] = [
  [/agents\[0\]\.price: needs payments/, undefined, { request: '1' }],
  [/payments\.network: must be an EVM chain/, { ...good, network: 'base' }, undefined],
  [/payments\.payTo: must be an address/, { ...good, payTo: 'me' }, undefined],
  [/payments\.asset: must be/, { ...good, asset: undefined }, undefined],
  [
    /payments\.asset\.transfer: must list/,
    { ...good, asset: { ...good.asset, transfer: ['cash'] } },
    undefined,
  ],
  [/payments\.facilitator: must be/, { ...good, facilitator: {} }, undefined],
  [
    /payments\.facilitator\.rpcUrl: must be an address such as/,
    { ...good, facilitator: { ...good.facilitator, rpcUrl: 'base' } },
    undefined,
  ],
  [
    /payments\.facilitator\.key: must be 0x/,
    { ...good, facilitator: { key: 'x', rpcUrl: 'http://a' } },
    undefined,
  ],
  [
    /payments\.terminal: needs payments\.facilitator with a key/,
    { ...good, terminal: { address: wallet } },
    undefined,
  ],
  [
    /payments\.reconcile: there is no such setting\. Did you mean "reconcileMs"/,
    { ...good, reconcile: 1 },
    undefined,
  ],
  [/price\.request: must be above 0/, good, { request: '0.00' }],
  [/price\.request: must be a decimal text/, good, { request: 0.01 }],
  [/price\.request: must be a decimal text.*6 decimals/, good, { request: '0.0000001' }],
  [/price\.cap: must be above 0/, good, { input: '1', output: '2' }],
  [/price\.cap: has no meaning/, good, { request: '1', cap: '2' }],
  [/price: must have/, good, {}],
]

test('every mistake is told with its key and what to do', async () => {
  for (const [why, payments, price] of wrong)
    await assert.rejects(Turnwire.open(configOf(payments, price)), { code: 'config_invalid', message: why })
})

test('a server without a key takes no payments', async t => {
  const turnwire = await Turnwire.open(configOf(good, { request: '0.01' }))
  t.after(() => turnwire.close())
  await assert.rejects(startServer(turnwire, { port: 0 }), /turnwire keys add <name> --operator/)
})

/** Runs a server in a process in which the packages of payments cannot be loaded. */
async function withoutPackages(config: string): Promise<{ code: number | null; out: string }> {
  const program = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (/^(@x402\\/|viem)/.test(name)) throw new Error('not installed: ' + name)
      return next(name, context)
    } })
    const { scripted, startServer, Turnwire } = await import(${JSON.stringify(resolve('src/index.ts'))})
    const turnwire = await Turnwire.open({
      agents: [{ name: 'helper', model: scripted([{ text: 'Hi' }])${config === '' ? '' : ", price: { request: '0.01' }"} }],
      data: 'memory', server: { log: 'error', keys: [{ name: 'me', sha256: 'A'.repeat(43) }] }, ${config}
    })
    await startServer(turnwire, { port: 0 }).then(() => console.log('served'), error => console.log(error.message))
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', program])
  let out = ''
  child.stdout.on('data', chunk => (out += String(chunk)))
  child.stderr.on('data', chunk => (out += String(chunk)))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out: out.trim() }
}

test('without the setting none of its packages is loaded; with it, the message says what to install', async () => {
  assert.deepEqual(await withoutPackages(''), { code: 0, out: 'served' })
  const local = { ...good, facilitator: { key: `0x${'1'.repeat(64)}`, rpcUrl: 'http://127.0.0.1:1' } }
  const { out } = await withoutPackages(`payments: ${JSON.stringify(local)}`)
  assert.match(out, /need packages that are not installed: npm install @x402\/core/)
})
