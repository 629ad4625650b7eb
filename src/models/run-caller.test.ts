// What a caller may not do with an operator's model: ask for more than the cap, or reach the vendor's own tools through
// a door that has client tools only.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelRequest } from '../engine/ports/index.ts'
import { checkRequestAll } from '../testing/doubles/index.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat, preparedFor } from './index.ts'

const crm = {
  type: 'mcp',
  server_label: 'crm',
  server_url: 'https://crm.example/mcp',
  authorization: 'token',
}
const search = { type: 'web_search_20250305', name: 'web_search' }
const hosted = [
  ['openai', openai({ model: 'gpt-5', apiKey: 'k', hosted: [crm] }), /crm\.example/],
  ['anthropic', anthropic({ model: 'claude-sonnet-4-5', apiKey: 'k', hosted: [search] }), /web_search/],
  ['gemini', gemini({ model: 'gemini-3-pro', apiKey: 'k', hosted: [{ googleSearch: {} }] }), /googleSearch/],
] as const

function request(over: Partial<ModelRequest> = {}): ModelRequest {
  return {
    session: 's',
    history: [{ role: 'user', parts: [{ type: 'text', text: 'hi' }] }],
    tools: [],
    choice: 'auto',
    parallel: true,
    options: {},
    ...over,
  }
}

test('hosted tools are not declared if the caller runs every tool', () => {
  for (const [name, model, sign] of hosted) {
    assert.match(preparedFor(model, request())?.body ?? '', sign, name)
    assert.doesNotMatch(preparedFor(model, request({ hosted: false }))?.body ?? '', sign, name)
  }
})

test('nor are the MCP servers that only hosted tools use', () => {
  const model = anthropic({
    model: 'claude-sonnet-4-5',
    apiKey: 'k',
    body: { mcp_servers: [{ type: 'url', name: 'crm', url: 'https://crm.example/mcp' }] },
    hosted: [{ type: 'mcp_toolset', mcp_server_name: 'crm' }],
  })
  for (const over of [{}, { hosted: false } as const]) {
    const prepared = preparedFor(model, request(over))
    assert.deepEqual(checkRequestAll('anthropic', JSON.parse(prepared?.body ?? '{}')), [])
    assert.equal(prepared?.body.includes('crm.example'), !('hosted' in over))
    assert.deepEqual(prepared?.warnings, [])
  }
})

test('the operator\u2019s token limit is a cap; without one the caller chooses', () => {
  const makers = { openai, openaiChat, anthropic, gemini, geminiInteractions }
  for (const [name, make] of Object.entries(makers)) {
    const asked = (maxTokens: number, own?: number): string =>
      preparedFor(
        make({ model: 'm', apiKey: 'k', ...(own !== undefined && { maxTokens: own }) }),
        request({ maxTokens }),
      )?.body ?? ''
    assert.doesNotMatch(asked(90_000, 500), /90000/, name)
    assert.match(asked(90_000, 500), /\b500\b/, name)
    assert.match(asked(400, 500), /\b400\b/, name)
    assert.match(asked(9_000), /\b9000\b/, name)
  }
})
