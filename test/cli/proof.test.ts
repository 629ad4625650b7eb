// turnwire verify, receipts and seal on a session of a data folder, and the public keys of its server at their known address.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Receipt } from '../../src/language/make-receipt.ts'
import { sha256 } from '../../src/lib/json/hash.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'
import { folder, serve, turnwire } from './rig.ts'

const index = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href
const config = `
import { defineConfig, rehearsal } from '${index}'
export default defineConfig({ receipts: true, agents: [{ name: 'clerk', model: rehearsal() }] })
`

async function record(cwd: string): Promise<{ id: string; callId: string }> {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: { type: 'object' },
    run: () => 'paid in full',
  })
  const list = tool({
    name: 'list',
    description: 'Lists all payments.',
    input: { type: 'object' },
    trust: 'trusted',
    readOnly: true,
    async *run() {
      yield 'a payment of five\n'.repeat(50_000)
    },
  })
  const calls = [
    { name: 'list', input: {} },
    { name: 'pay', input: { amount: 5 } },
  ]
  const model = scripted([{ calls }, { text: 'It is done.' }])
  const runtime = await Turnwire.open({
    agents: [{ name: 'clerk', model, tools: [list, pay] }],
    receipts: true,
    data: join(cwd, '.turnwire'),
  })
  const session = await runtime.session('clerk')
  await session.send('Pay five.')
  const callId = (await session.pending())[0]?.callId ?? ''
  await session.approve(callId, { by: 'maria', input: { amount: 4 } })
  await runtime.close()
  return { id: session.id, callId }
}

test('what was recorded is proved on the command line, elsewhere and after a rotation, and what was changed is found', async t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'turnwire.config.ts'), config)
  const { id, callId } = await record(cwd)
  const run = (...args: string[]) => turnwire(args, { cwd })

  const whole = run('verify', id)
  assert.equal(whole.code, 0, whole.stderr)
  assert.match(
    whole.stdout,
    /events 1 to \d+ of \d+ are as they were recorded, with 2 settled calls and 1 output kept beside the log\./,
  )

  const keys = run('receipts', 'keys')
  const receipt = run('receipts', 'show', id, callId)
  assert.deepEqual([keys.code, receipt.code], [0, 0], receipt.stderr)
  assert.doesNotMatch(receipt.stdout, /"salts"/)
  const open = JSON.parse(run('receipts', 'show', id, callId, '--salts').stdout) as Receipt
  assert.equal(open.call.arguments, sha256(`${open.salts?.arguments}{"amount":4}`))
  // Somebody else, with the receipt and the keys, and nothing else.
  const elsewhere = join(cwd, 'elsewhere')
  mkdirSync(elsewhere)
  writeFileSync(join(elsewhere, 'keys.json'), keys.stdout)
  writeFileSync(join(elsewhere, 'receipt.json'), receipt.stdout)
  const name = 'x'.repeat(43)
  const check = () =>
    turnwire(['verify', 'receipt.json', '-k', name, '--key', 'keys.json'], { cwd: elsewhere })
  assert.match(
    check().stdout,
    /^The receipt is genuine: .* of pay in session .*, approved by maria, .*, with arguments that maria had changed, ended ok/,
  )
  writeFileSync(join(elsewhere, 'receipt.json'), receipt.stdout.replace('"maria"', '"nobody"'))
  const forged = check()
  assert.deepEqual([forged.code, forged.stdout.startsWith('BROKEN')], [1, true])

  // The receipt finds a log that was cut off, which has nothing wrong by itself.
  const held = (...args: string[]) => run('verify', id, '--receipt', 'kept.json', ...args)
  writeFileSync(join(cwd, 'kept.json'), receipt.stdout)
  assert.equal(held().code, 0)
  const other = await record(cwd)
  const missing = run('verify', other.id, '--receipt', 'kept.json')
  assert.match(missing.stdout, /^BROKEN: the session .*, of which there is a receipt, is not in it/)
  writeFileSync(join(cwd, 'kept.json'), receipt.stdout.replace('"maria"', '"nobody"'))
  assert.match(held().stderr, /kept\.json proves nothing: the call is not among those that were signed/)

  assert.equal(run('receipts', 'rotate').code, 0)
  const sealed = run('seal', id, '-o', 'session.html', '--redact', 'results')
  assert.equal(sealed.code, 0, sealed.stderr)
  const html = readFileSync(join(cwd, 'session.html'), 'utf8')
  assert.ok(html.includes('maria') && !html.includes('paid in full'))
  assert.match(run('verify', 'session.html').stdout, /2 were left out, and their digests fit/)
  writeFileSync(join(cwd, 'session.html'), html.replace('Pay five.', 'Pay nine.'))
  assert.equal(run('verify', 'session.html').code, 1)

  for (const [what, words] of [
    ['.turnwire', /is a folder\. Name a file or a session\./],
    ['missing.jsonl', /There is no file missing\.jsonl\./],
    ['sess_missing', /There is no session sess_missing here\./],
  ] as const)
    for (const command of ['verify', 'replay']) {
      const refused = run(command, what)
      assert.equal(refused.code, 2, refused.stderr)
      assert.match(refused.stderr, words)
    }

  const database = new DatabaseSync(join(cwd, '.turnwire/sessions.db'))
  const [row] = database
    .prepare(
      'SELECT id, first_seq AS first, body FROM batches WHERE session = 1 ORDER BY id LIMIT 1 OFFSET 2',
    )
    .all() as { id: number; first: number; body: string }[]
  const write = database.prepare('UPDATE batches SET body = ? WHERE id = ?')
  for (const other of ['{nope', '{}', '']) {
    write.run(other, row!.id)
    const damaged = run('verify', id)
    assert.deepEqual([damaged.code, damaged.stderr], [1, ''])
    assert.equal(
      damaged.stdout,
      `BROKEN: event ${row!.first} cannot be read: what the store has of it is damaged or was changed.\n`,
    )
  }
  write.run(row!.body, row!.id)
  database.exec('UPDATE pieces SET body = zeroblob(length(body))')
  database.close()
  const emptied = run('verify', id)
  assert.equal(emptied.code, 1)
  assert.match(emptied.stdout, /^BROKEN: the output that is kept beside the log for event \d+ is not/)

  const server = await serve(t, { cwd })
  const answer = await fetch(`${server.url}/.well-known/turnwire-receipts.json`)
  const { keys: published } = (await answer.json()) as {
    keys: { kid: string; retired?: number; d?: string }[]
  }
  assert.deepEqual(
    published.map(({ retired, d }) => [retired !== undefined, d]),
    [
      [true, undefined],
      [false, undefined],
    ],
  )
  const [before] = (JSON.parse(keys.stdout) as { keys: { kid: string }[] }).keys
  assert.equal(published[0]?.kid, before?.kid)
})
