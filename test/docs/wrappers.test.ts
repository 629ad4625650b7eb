// The order of wrappers in ARCHITECTURE.md is the order in which a request walks through them, and each is put around where
// the page says.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { BoundEngine } from '../../src/callers/bound-engine.ts'
import { newKey } from '../../src/callers/keys.ts'
import type { Engine } from '../../src/engine/index.ts'
import { LocalEngine } from '../../src/engine/sessions/local-engine.ts'
import { MovingEngine } from '../../src/engines/moving/moving-engine.ts'
import { RemoteEngine } from '../../src/engines/socket/connect-engine.ts'
import { rehearsal, scripted, type TurnwireConfig } from '../../src/index.ts'
import type { ScriptStep } from '../../src/models/scripted/index.ts'
import { PaidEngine } from '../../src/payments/paid-engine.ts'
import { Runtime } from '../../src/runtime.ts'
import { serveRuntime } from '../../src/server/server.ts'

type Row = { wrapper: string; where: string }

/** The rows of the table that comes after these words. */
function tableAfter(words: string): Row[] {
  const [, section = ''] = readFileSync('ARCHITECTURE.md', 'utf8').split('## The order of wrappers')
  const [, rest = ''] = section.split(words)
  const [, , lines = ''] = rest.split('\n\n')[1]?.match(/^(\|.*\n\|-.*\n)((?:\|.*\n?)+)/) ?? []
  return lines
    .trim()
    .split('\n')
    .map(line => line.split('|').map(cell => cell.trim()))
    .map(([, wrapper = '', , where = '']) => ({ wrapper, where }))
}

const engines = tableAfter('Around the engine')
const models = tableAfter('Around a model')

/** The first name of a row. */
const nameIn = ({ wrapper }: Row): string => /`(\w+)`/.exec(wrapper)?.[1] ?? ''

test('each wrapper of the engine is made in the file that the table names', () => {
  assert.equal(engines.length, 5)
  for (const row of engines) {
    const files = [...row.where.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file]) => `src/${file}`)
    assert.ok(files.length > 0, row.where)
    const text = files.map(file => readFileSync(file, 'utf8')).join('\n')
    for (const [, name] of row.wrapper.matchAll(/`(\w+Engine)`/g))
      assert.match(
        text,
        new RegExp(name === 'RemoteEngine' ? 'connectEngine\\(' : `new ${name}\\(`),
        `${name} in ${files.join(', ')}`,
      )
  }
})

function ask(url: string, body: object, key = ''): Promise<Response> {
  return fetch(`${url}/v1/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== '' && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model: 'helper', input: 'Hello', store: false, ...body }),
  })
}

const network = 'eip155:8453'
const wallet = '0x00000000000000000000000000000000000000aa'

test('a request walks through the wrappers of the engine in the order of the table', async t => {
  const walked: string[] = []
  for (const [shown, { prototype }] of [
    ['PaidEngine', PaidEngine],
    ['BoundEngine', BoundEngine],
    ['FolderEngine', MovingEngine],
    ['RemoteEngine', RemoteEngine],
    ['LocalEngine', LocalEngine],
  ] as const) {
    const answerOnce: Engine['answerOnce'] = prototype.answerOnce
    t.mock.method(
      prototype,
      'answerOnce',
      function (this: Engine, ...args: Parameters<Engine['answerOnce']>) {
        walked.push(shown)
        return answerOnce.apply(this, args)
      },
    )
  }
  const data = mkdtempSync(join(tmpdir(), 'wrappers-'))
  const operator = newKey('boss', true)
  const config: TurnwireConfig = {
    agents: [{ name: 'helper', model: rehearsal() }],
    payments: {
      network,
      asset: { address: wallet, name: 'USD Coin', version: '2' },
      payTo: wallet,
      facilitator: { url: 'http://127.0.0.1:9' },
    },
    server: { log: 'error', keys: [operator.entry] },
    data,
  }
  const keeper = await Runtime.open(config)
  const other = await Runtime.open(config)
  const server = await serveRuntime(other, { port: 0, shared: true })
  t.after(async () => {
    await server.stop()
    await keeper.close()
    rmSync(data, { recursive: true, force: true })
  })
  const answer = await ask(server.url, {}, operator.key)
  assert.equal(answer.status, 200, await answer.text())
  assert.deepEqual(walked, engines.map(nameIn))
})

test('a model is asked through its wrappers in the order of the table', async t => {
  assert.deepEqual(models.map(nameIn), ['beforeStep', 'respondAsDemanded', 'ModelStats', ''])
  const walked: string[] = []
  // Its first answer is not as demanded.
  const steps: ScriptStep[] = [{ text: 'No.' }, { calls: [{ name: 'look', input: {} }] }]
  const runtime = await Runtime.open({
    agents: [
      {
        name: 'helper',
        model: scripted(() => {
          const { requests } = runtime.modelRecords()[0] ?? {}
          return steps[walked.push(`model, request ${requests}`) - 2] ?? { text: 'Over.' }
        }),
      },
    ],
    hooks: {
      beforeStep: () => void walked.push('beforeStep'),
      afterStep: () => void walked.push('afterStep'),
    },
    server: { log: 'error' },
    data: 'memory',
  })
  const server = await serveRuntime(runtime, { port: 0 })
  t.after(() => server.stop())
  const tools = [{ type: 'function', name: 'look', parameters: {} }]
  const answer = await ask(server.url, { tools, tool_choice: 'required' })
  assert.equal(answer.status, 200, await answer.text())
  // The hooks are around both requests, and each of these was counted.
  assert.deepEqual(walked, ['beforeStep', 'model, request 1', 'model, request 2', 'afterStep'])
})

test('the functions inside of a model over HTTP call each other in the order of the table', () => {
  const [, names = ''] = /`models\/run\.ts`: (.*)/.exec(models.at(-1)?.where ?? '') ?? []
  const order = [...names.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
  assert.deepEqual(order, ['createModel', 'respond', 'exchange'])
  const text = readFileSync('src/models/run.ts', 'utf8')
  for (const [index, name] of order.entries()) {
    const [, body = ''] = new RegExp(`function ${name}\\b([^]*?)\\n}\\n`).exec(text) ?? []
    assert.match(body, new RegExp(`\\b${order[index + 1] ?? 'attempt'}\\(`), name)
  }
})
