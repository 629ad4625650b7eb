// The doors of the package: each name stands behind one of them, so that a reader finds it in one place.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { rehearsal, Turnwire, tool } from '../../src/index.ts'

const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, string> }

/** By door: the names of the values that it exports. */
async function exportedNames(): Promise<Map<string, string[]>> {
  // The React components are JSX, which only a bundler loads.
  const doors = Object.entries(exports).filter(([door, file]) => file.endsWith('.ts') && door !== './react')
  const loaded = doors.map(async ([door, file]): Promise<[string, string[]]> => {
    const module = (await import(`../../${file}`)) as object // a module is an object of its exports
    return [door, Object.keys(module)]
  })
  return new Map(await Promise.all(loaded))
}

test('no value is exported by two doors of the package', async () => {
  const all = [...(await exportedNames()).values()].flat()
  assert.ok(all.length > 50)
  assert.deepEqual(
    all.filter((name, at) => all.indexOf(name) !== at),
    [],
  )
})

test('what programs use stands at the first door, the parts for builders under turnwire/extend', async () => {
  const names = await exportedNames()
  for (const name of ['rehearsal', 'scripted', 'parseScript', 'scriptFromFile', 'tool', 'withDetails'])
    assert.ok(names.get('.')?.includes(name), name)
  assert.deepEqual(names.get('./extend')?.sort(), [
    'createLog',
    'createModel',
    'errorCodes',
    'preparedFor',
    'protocols',
  ])
})

test('turnwire.run says one text to an agent, with a tool whose schema is written as const', async t => {
  const input = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } as const
  const weather = tool({
    name: 'get_weather',
    description: 'The weather in a city.',
    input,
    trust: 'trusted',
    run: ({ city }) => `${typeof city === 'string' ? city : ''}: 18 °C`,
  })
  const turnwire = await Turnwire.open({
    agents: [{ name: 'a', model: rehearsal(), tools: [weather] }],
    data: 'memory',
  })
  t.after(() => turnwire.close())
  const { status, text } = await turnwire.run('a', 'What is the weather in Oslo?')
  assert.equal(status, 'done')
  assert.match(text, /Oslo: 18 °C/)
})
