// docs/guide/payments.md as a reader follows it: its configuration, its commands and its program, on the local chain.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { newFolder } from '../crash/killed-server.ts'
import { skipped, startChain } from './chain.ts'

const chain = await startChain()
const page = readFileSync('docs/guide/payments.md', 'utf8')
const bin = resolve('bin/turnwire.mjs')

function block(name: string): string {
  const [, code] = new RegExp(`^\`\`\`ts ${name}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? []
  assert.ok(code, name)
  return code
}

/** The lines of the guide's shell blocks. */
const lines = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, text = '']) =>
  text.trim().split('\n'),
)

/** Lines that nothing here has run yet. `…` stands for what a reader fills in. */
const left = new Set(lines)

function isLine(line: string, wanted: string): boolean {
  const parts = wanted.split('…').map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, 's').test(line)
}

/** The line is one of the guide's, and is run. */
function tick(line: string): void {
  const found = lines.find(each => isLine(line, each))
  assert.ok(found, `not in the guide: ${line}`)
  left.delete(found)
}

type Place = { folder: string; env: NodeJS.ProcessEnv }

async function run({ folder, env }: Place, program: string, args: string[]): Promise<string> {
  const child = spawn(program, args, { cwd: folder, env })
  let out = ''
  child.stdout.on('data', chunk => (out += String(chunk)))
  child.stderr.on('data', chunk => (out += String(chunk)))
  const [code] = (await once(child, 'close')) as [number]
  assert.equal(code, 0, `${program} ${args.join(' ')}: ${out}`)
  return out
}

const turnwire = (place: Place, line: string): Promise<string> => {
  tick(line)
  return run(place, process.execPath, [bin, ...line.split(' ').slice(1)])
}

/** A line with curl, as it stands in the guide but for the address and what is filled in. Gives what it prints. */
function curl(place: Place, url: string, line: string): Promise<string> {
  tick(line)
  const args = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, one, two, plain]) => one ?? two ?? plain ?? '',
  )
  return run(
    place,
    'curl',
    args.slice(1).map(arg => arg.replace('http://127.0.0.1:4117', url)),
  )
}

async function setUp(t: TestContext, payTo: string, key: string): Promise<Place> {
  const folder = newFolder(t)
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const changed = (code: string): string =>
    code
      .replaceAll('eip155:8453', 'eip155:84532')
      .replaceAll('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', chain.token)
      .replace('USD Coin', 'Test Dollar')
      .replace('0x1111111111111111111111111111111111111111', payTo)
      .replace('https://mainnet.base.org', chain.rpcUrl)
      .replace(`'turnwire'`, JSON.stringify(resolve('src/index.ts')))
      .replace(`'turnwire/payments'`, JSON.stringify(resolve('src/client/payments.ts')))
  writeFileSync(join(folder, 'turnwire.config.ts'), changed(block('turnwire.config.ts')))
  writeFileSync(join(folder, 'pay.ts'), changed(block('pay.ts')))
  const payer = generatePrivateKey()
  await chain.fund(privateKeyToAccount(payer).address)
  return { folder, env: { ...process.env, WALLET_KEY: key, PAYER_KEY: payer, NO_COLOR: '1' } }
}

async function serve(t: TestContext, { folder, env }: Place): Promise<string> {
  const child = spawn(process.execPath, [bin, 'serve', '--port', '0'], { cwd: folder, env })
  t.after(() => void child.kill('SIGKILL'))
  for await (const line of createInterface({ input: child.stdout })) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? []
    if (url) {
      child.stdout.resume()
      return url
    }
  }
  throw new Error('The server ended.')
}

test('the guide holds: configure, serve, ask, pay, list, pay back', { skip: skipped }, async t => {
  const { key, account } = await chain.facilitator()
  const place = await setUp(t, account.address, key)
  assert.match(await turnwire(place, 'turnwire keys add me --operator'), /^tw_/)
  const url = await serve(t, place)
  tick('turnwire serve')
  const refused = await curl(place, url, lines.find(line => line.startsWith('curl -si')) ?? '')
  assert.match(refused, /^HTTP\/1\.1 402 Payment Required/)
  assert.match(refused, /PAYMENT-REQUIRED: eyJ4NDAyVmVyc2lvbiI6Mi/i)
  assert.match(refused, /"x402Version":1,"error":"Payment required","accepts":\[\{"scheme":"exact"/)
  const program = readFileSync(join(place.folder, 'pay.ts'), 'utf8').replace('http://127.0.0.1:4117', url)
  writeFileSync(join(place.folder, 'pay.ts'), program)
  assert.equal((await run(place, process.execPath, ['pay.ts'])).trim(), 'true 10000')
  const [, id = ''] =
    /^(pay_\S+) {2}settled {2}0\.01 /m.exec(await turnwire(place, 'turnwire payments list')) ?? []
  assert.ok(id)
  assert.match(await turnwire(place, 'turnwire payments csv'), new RegExp(`^${id},settled,helper,`, 'm'))
  assert.match(await turnwire(place, `turnwire payments refund ${id}`), /refunded/)
  // It is not unclear, and there is nothing to say about it. One that is: facilitators.test.ts.
  await assert.rejects(
    turnwire(place, `turnwire payments resolve ${id} 0x${'1'.repeat(64)}`),
    /This payment is not unclear/,
  )

  const fill = (start: string, ...values: string[]): string =>
    values.reduce((line, value) => line.replace('…', value), lines.find(line => line.startsWith(start)) ?? '')
  const wallet = privateKeyToAccount(place.env['PAYER_KEY'] as `0x${string}`)
  const challenge = fill('curl -s "http://127.0.0.1:4117/v1/wallet/challenge', wallet.address.slice(2))
  const { message } = JSON.parse(await curl(place, url, challenge)) as { message: string }
  const signature = await wallet.signMessage({ message })
  const text = JSON.stringify(message).slice(1, -1)
  const signIn = fill('curl -s http://127.0.0.1:4117/v1/wallet/sign-in', text, signature.slice(2))
  const { token } = JSON.parse(await curl(place, url, signIn)) as { token: string }
  const usage = fill('curl -s http://127.0.0.1:4117/v1/usage', token.replace(/^twp_/, ''))
  const { data } = JSON.parse(await curl(place, url, usage)) as { data: { id: string; state: string }[] }
  assert.deepEqual(
    data.map(({ id, state }) => ({ id, state })),
    [{ id, state: 'refunded' }],
  )

  const install = [...left]
  assert.deepEqual(install.length, 1, install.join('\n'))
  const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    peerDependencies: Record<string, string>
  }
  for (const wanted of (install[0] ?? '').replace('npm install ', '').split(' ')) {
    const [, name = '', version = ''] = /^(.+)@(.+)$/.exec(wanted) ?? []
    assert.ok(peerDependencies[name]?.includes(version), `${wanted}: ${peerDependencies[name]}`)
  }
})
