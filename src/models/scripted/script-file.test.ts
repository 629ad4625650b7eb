import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { TurnwireError } from '../../language/errors.ts'
import { parseScript, scriptFromFile } from './script-file.ts'

const fixture = (name: string) => join(import.meta.dirname, 'fixtures', name)

function refusal(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof TurnwireError && error.code === 'config_invalid')
    return error.message
  }
  assert.fail('it was taken')
}

test('YAML: steps and what comes after them', () => {
  const script = scriptFromFile(fixture('weather.yaml'))
  assert.equal(script.whenOver, 'end')
  assert.equal(script.steps.length, 2)
  assert.deepEqual(script.steps[0]?.calls, [
    { name: 'get_weather', input: { city: 'Paris' } },
    { name: 'get_weather', id: 'call_2', text: '{"city":"Oslo"}' },
  ])
  assert.deepEqual(script.steps[0]?.expect, {
    lastUser: { pattern: 'weather', flags: 'i' },
    tools: ['get_weather'],
  })
})

test('JSON: a bare list of steps', () => {
  const script = scriptFromFile(fixture('faults.json'))
  assert.deepEqual(script.steps[0]?.fail, {
    code: 'model_timeout',
    message: 'The model went quiet.',
    after: 2,
  })
  assert.equal(script.steps[2]?.calls?.[0]?.cut, true)
  assert.equal('position' in script, false)
})

test('a refusal names the file, the step, the key and the remedy', () => {
  const cases: [string, string][] = [
    [
      '- text: a\n- txt: b',
      'demo.yaml: step 2, key "txt": unknown key. Known here: thinking, text, calls, stop, usage, chunk, delayMs, stepDelayMs, expect, fail, hang, reset, native.',
    ],
    [
      '- calls: [{ nam: x }]',
      'demo.yaml: step 1, key "calls[0].name": Invalid input: expected string, received undefined; step 1, key "calls[0].nam": unknown key. Known here: name, input, text, form, id, cut, native.',
    ],
    ['- chunk: 0', 'demo.yaml: step 1, key "chunk": Too small: expected number to be >0.'],
    [
      '- stop: soon',
      'demo.yaml: step 1, key "stop": Invalid option: expected one of "end"|"calls"|"length"|"refusal"|"filter"|"pause".',
    ],
    [
      '- expect: { lastUser: { pattern: "(" } }',
      'demo.yaml: step 1, key "expect.lastUser": is not a valid regular expression.',
    ],
    [
      '- expect: { lastUser: { patern: x } }',
      'demo.yaml: step 1, key "expect.lastUser.pattern": Invalid input: expected string, received undefined.',
    ],
    ['steps: []', 'demo.yaml: the script, key "steps": Too small: expected array to have >=1 items.'],
    [
      'steps: [{ text: a }]\nmodel: x',
      'demo.yaml: the script, key "model": unknown key. Known here: position, whenOver, steps.',
    ],
    ['', 'demo.yaml: is empty. Write a list of steps, such as "- text: Hello".'],
  ]
  for (const [text, message] of cases)
    assert.equal(
      refusal(() => parseScript(text, 'demo.yaml')),
      message,
    )
})

test('broken YAML is refused with its line', () => {
  assert.match(
    refusal(() => parseScript('- text: a\n- text: "b', 'demo.yaml')),
    /^demo\.yaml: line 2, column \d+: /,
  )
})

test('a repeated key is refused', () => {
  assert.match(
    refusal(() => parseScript('- text: a\n  text: b', 'x')),
    /^x: line 2, .*unique/,
  )
})

test('a missing file is refused with its path', () => {
  assert.match(
    refusal(() => scriptFromFile(fixture('none.yaml'))),
    /none\.yaml: cannot be read \(ENOENT/,
  )
})
