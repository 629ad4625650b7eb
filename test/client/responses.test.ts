// The tool loop over /v1/responses, against a real server with a scripted model.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runResponses } from '../../src/client/index.ts'
import { serve } from './rig.ts'

const weather = {
  description: 'The weather in a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const callBoth = {
  calls: [
    { name: 'weather', input: { city: 'Paris' } },
    { name: 'weather', input: { city: 'Rome' } },
  ],
}

test('calls of one answer run together, and the loop ends with the text', async t => {
  const { url } = await serve(t, [callBoth, { text: 'Rain and sun.' }])
  let [running, most, text] = [0, 0, '']
  const {
    text: said,
    items,
    status,
  } = await runResponses(
    { baseUrl: url },
    {
      model: 'helper',
      input: 'Weather in Paris and Rome?',
      onText: delta => {
        text += delta
      },
      tools: {
        weather: {
          ...weather,
          run: async ({ city }) => {
            running += 1
            most = Math.max(most, running)
            await new Promise(resolve => setTimeout(resolve, 10))
            running -= 1
            return { city, sky: city === 'Paris' ? 'rain' : 'sun' }
          },
        },
      },
    },
  )
  assert.deepEqual([said, text, status, most], ['Rain and sun.', 'Rain and sun.', 'completed', 2])
  const outputs = items.filter(({ type }) => type === 'function_call_output').map(({ output }) => output)
  assert.deepEqual(outputs, ['{"city":"Paris","sky":"rain"}', '{"city":"Rome","sky":"sun"}'])
})

test('a tool that throws, or is not there, is told to the model', async t => {
  const calls = [
    { name: 'weather', input: { city: 'Paris' } },
    { name: 'tides', input: {} },
  ]
  const { url } = await serve(t, [{ calls }, { text: 'Then not.' }])
  const tides = { description: 'Tides.', parameters: { type: 'object' }, run: () => 'high' }
  const tools = { weather: { ...weather, run: () => Promise.reject(new Error('no sky')) }, tides }
  const { items } = await runResponses({ baseUrl: url }, { model: 'helper', input: 'Both?', tools })
  const outputs = items.filter(({ type }) => type === 'function_call_output').map(({ output }) => output)
  assert.deepEqual(outputs, ['The tool failed: no sky', 'high'])
})

test('a refused request and a failed response are errors with the code of the server', async t => {
  const { url } = await serve(t, [])
  await assert.rejects(runResponses({ baseUrl: url }, { model: 'nobody', input: 'Hi' }), { name: 'AapError' })
  await assert.rejects(runResponses({ baseUrl: url, retries: 0 }, { model: 'helper', input: 'Hi' }), {
    name: 'AapError',
  })
})
