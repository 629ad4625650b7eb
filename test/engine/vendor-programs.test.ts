// Programs that a model's vendor runs and that call our tools: what is declared to the vendor, and what the gate lets pass.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Model, ModelAnswer, ModelRequest } from '../../src/engine/ports/index.ts'
import { anthropic, openai } from '../../src/models/providers/index.ts'
import { preparedFor } from '../../src/models/run.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, say, stopAll } from './rig.ts'

after(stopAll)

const declared = { description: 'For a test.', input: { type: 'object' }, trust: 'trusted' } as const
let runs: string[] = []
const named = (name: string, callers?: readonly ('model' | 'code')[]) =>
  tool({
    ...declared,
    name,
    ...(callers && { callers }),
    run: () => {
      runs.push(name)
      return 'ran'
    },
  })
const tools = [
  named('any'),
  named('direct', ['model']),
  named('inner', ['code']),
  named('both', ['model', 'code']),
]

function modelWith(calls: ModelAnswer['parts'], programs?: true): Model & { seen: ModelRequest[] } {
  const seen: ModelRequest[] = []
  return {
    id: 'test',
    ...(programs && { programs }),
    seen,
    respond(request) {
      seen.push(request)
      return Promise.resolve(
        seen.length === 1
          ? { parts: calls, stop: 'calls' }
          : { parts: [{ type: 'text', text: 'Done.' }], stop: 'end' },
      )
    },
  }
}

const call = (name: string, caller?: string) => ({
  type: 'call' as const,
  name,
  form: 'json' as const,
  text: '{}',
  ...(caller !== undefined && { caller }),
})

async function outcomes(calls: ModelAnswer['parts'], programs?: true) {
  runs = []
  const model = modelWith(calls, programs)
  const session = await begin(makeRig({ model, tools }))
  await say(session, 'go')
  const results = session.state.entries.flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  return {
    kinds: results.map(({ outcome }) => outcome.kind),
    names: model.seen[0]?.tools.map(({ name }) => name),
  }
}

test('a call of a vendor’s program runs only if its tool lets programs call it, whatever the vendor says', async () => {
  const { kinds } = await outcomes(
    tools.map(({ name }) => call(name, 'srvtoolu_1')),
    true,
  )
  assert.deepEqual(kinds, ['ok', 'invalid', 'ok', 'ok'])
  assert.deepEqual(runs, ['any', 'inner', 'both'])
})

test('a tool of programs is refused to the model itself, although its vendor was told of it', async () => {
  const { kinds, names } = await outcomes(
    tools.map(({ name }) => call(name)),
    true,
  )
  assert.deepEqual(kinds, ['ok', 'ok', 'invalid', 'ok'])
  assert.deepEqual(names, ['any', 'direct', 'both', 'inner'])
})

test('a model whose vendor runs no programs is not told of it', async () => {
  const { names } = await outcomes([call('any')])
  assert.deepEqual(names, ['any', 'direct', 'both'])
})

const request: ModelRequest = {
  session: 's',
  history: [{ role: 'user', parts: [{ type: 'text', text: 'go' }] }],
  tools,
  choice: 'auto',
  parallel: true,
  options: {},
}

type Declared = { name?: string; allowed_callers?: string[] }
const callersIn = (model: Model) => {
  const { body = '{}' } = preparedFor(model, request) ?? {}
  const { tools: list = [] } = JSON.parse(body) as { tools?: Declared[] }
  return Object.fromEntries(list.map(({ name, allowed_callers }) => [name, allowed_callers]))
}

test('Anthropic is told who may call each tool, if it runs code', () => {
  const program = 'code_execution_20260120'
  const hosted = [{ type: program, name: 'code_execution' }]
  const coding = anthropic({ model: 'claude-x', apiKey: 'k', hosted })
  const { direct, inner, both, any } = callersIn(coding)
  assert.deepEqual([any, direct, inner, both], [undefined, ['direct'], [program], ['direct', program]])
  assert.equal(coding.programs, true)
  const plain = anthropic({ model: 'claude-x', apiKey: 'k' })
  assert.equal(callersIn(plain)['both'], undefined)
  assert.equal(plain.programs, undefined)
})

test('OpenAI is told who may call each tool, if it runs programs', () => {
  const coding = openai({ model: 'gpt-x', apiKey: 'k', hosted: [{ type: 'programmatic_tool_calling' }] })
  const { direct, inner, both, any } = callersIn(coding)
  assert.deepEqual(
    [any, direct, inner, both],
    [undefined, ['direct'], ['programmatic'], ['direct', 'programmatic']],
  )
})
