// Names of models that clients choose by themselves: a pattern of the configuration answers for them on every wire that
// names models, a stored session goes on under such a name, and lists show whole names only.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import type { TurnwireConfig } from '../../src/config/config.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { serve } from './stateless/rig.ts'

const saying = (text: string) => scripted(Array.from({ length: 8 }, () => ({ text })))

function patterns(): Partial<TurnwireConfig> {
  const models = {
    main: saying('main'),
    small: saying('small'),
    'gpt-5': 'main',
    'claude-haiku-*': 'small',
    '*': saying('any'),
  }
  return { models }
}

test('the OpenAI, Anthropic and Google SDKs are answered under names that only a pattern knows', async t => {
  const { url } = await serve(t, { helper: saying('helper') }, { config: patterns() })
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 })
  const google = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: url } })
  const chat = async (model: string) => {
    const { choices } = await openai.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    return choices[0]?.message.content
  }
  const responses = async (model: string) =>
    (await openai.responses.create({ model, input: 'Hi', store: false })).output_text
  const messages = async (model: string) => {
    const { content } = await anthropic.messages.create({
      model,
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    return content[0]?.type === 'text' ? content[0].text : undefined
  }
  const gemini = async (model: string) =>
    (await google.models.generateContent({ model, contents: 'Hi' })).text
  for (const [name, said] of [
    ['helper', 'helper'],
    ['main', 'main'],
    ['gpt-5', 'main'],
    ['claude-haiku-4-5', 'small'],
    ['gemini-3.5-flash-lite', 'any'],
  ] as const)
    for (const ask of [chat, responses, messages, gemini]) assert.equal(await ask(name), said, name)

  const listed = (await openai.models.list()).data.map(({ id }) => id)
  assert.deepEqual(listed, ['helper', 'main', 'small', 'gpt-5'])
  assert.equal((await openai.models.retrieve('gpt-6-luna')).id, 'gpt-6-luna')
})

test('a stored response goes on under a name that only a pattern knows', async t => {
  const { url } = await serve(t, { helper: saying('helper') }, { config: patterns() })
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
  const model = 'claude-haiku-4-5'
  const first = await openai.responses.create({ model, input: 'Hi', store: true })
  const next = await openai.responses.create({ model, input: 'Hi', previous_response_id: first.id })
  assert.deepEqual([first.output_text, next.output_text, next.model], ['small', 'small', model])
})

test('without a pattern an unknown name is refused', async t => {
  const { url } = await serve(
    t,
    { helper: saying('helper') },
    { config: { models: { 'gpt-*': saying('x') } } },
  )
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
  await assert.rejects(openai.responses.create({ model: 'claude', input: 'Hi' }), { status: 404 })
})
