// A model that falls back, behind each streamed wire without a session. No frame can be taken back there, so another model
// goes on only if nothing was shown.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Model } from '../../../src/engine/index.ts'
import { fallback, scripted } from '../../../src/index.ts'
import { serve } from './rig.ts'

const user = [{ role: 'user', content: 'Hello.' }]
const wires: [name: string, path: string, body: object, streamed: object | string][] = [
  ['Responses', '/v1/responses', { model: 'helper', input: 'Hello.', store: false }, { stream: true }],
  ['Chat Completions', '/v1/chat/completions', { model: 'helper', messages: user }, { stream: true }],
  ['Messages', '/v1/messages', { model: 'helper', max_tokens: 100, messages: user }, { stream: true }],
  [
    'Gemini',
    '/v1beta/models/helper:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }] },
    '/v1beta/models/helper:streamGenerateContent?alt=sse',
  ],
]
const said = 'Good'
const instead = 'Howdy'

/** The first breaks after so many pieces of its text. `asked`: how often the second was asked. */
function breaking(after: number): { model: Model; asked: () => number } {
  let asked = 0
  const smart = scripted(
    () => ({
      text: `${said} day`,
      chunk: 4,
      fail: { code: 'model_failed', message: 'The stream broke.', after },
    }),
    { id: 'smart' },
  )
  const cheap = scripted(
    () => {
      asked += 1
      return { text: instead }
    },
    { id: 'cheap' },
  )
  return { model: fallback([smart, cheap]), asked: () => asked }
}

for (const [name, path, body, streamed] of wires) {
  const stream =
    typeof streamed === 'string' ? { path: streamed, body } : { path, body: { ...body, ...streamed } }

  test(`${name}: once text was streamed, the failure ends the stream and no other model is asked`, async t => {
    const { model, asked } = breaking(1)
    const { post } = await serve(t, { helper: model })
    const text = await (await post(stream.path, stream.body)).text()
    assert.match(text, new RegExp(said))
    assert.match(text, /The stream broke\./)
    assert.doesNotMatch(text, new RegExp(instead))
    assert.equal(asked(), 0)
  })

  test(`${name}: before any text, another model streams the answer`, async t => {
    const { model, asked } = breaking(0)
    const { post } = await serve(t, { helper: model })
    const text = await (await post(stream.path, stream.body)).text()
    assert.match(text, new RegExp(instead))
    assert.doesNotMatch(text, /The stream broke\./)
    assert.equal(asked(), 1)
  })

  test(`${name}: an answer that is not streamed comes from the other model, whatever the first had said`, async t => {
    const { model, asked } = breaking(1)
    const { post } = await serve(t, { helper: model })
    const response = await post(path, body)
    const text = await response.text()
    assert.equal(response.status, 200)
    assert.match(text, new RegExp(instead))
    assert.doesNotMatch(text, new RegExp(said))
    assert.equal(asked(), 1)
  })
}
