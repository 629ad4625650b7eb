// Models of every vendor behind strict doubles, and an agent that searches the written tools.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Model } from '../../../src/engine/index.ts'
import { isJsonObject, type JsonObject } from '../../../src/lib/json/index.ts'
import { asString } from '../../../src/models/common/json-read.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat } from '../../../src/models/index.ts'
import {
  type RunningDouble,
  type ScriptedTurn,
  startDouble,
  type VendorName,
} from '../../../src/testing/index.ts'

const limits = { retries: 0 }

export const vendors = {
  anthropic: { make: anthropic, model: 'claude-sonnet-4-5', path: '' },
  'openai-responses': { make: openai, model: 'gpt-5.4', path: '/v1' },
  'openai-chat': { make: openaiChat, model: 'gpt-5.2', path: '/v1' },
  gemini: { make: gemini, model: 'gemini-3-pro', path: '/v1beta' },
  'gemini-interactions': { make: geminiInteractions, model: 'gemini-3-pro', path: '/v1beta' },
} as const
export type Vendor = keyof typeof vendors

export async function vendorModel(
  t: TestContext,
  vendor: Vendor,
  script: ScriptedTurn[],
  model: string = vendors[vendor].model,
): Promise<{ model: Model; double: RunningDouble }> {
  const double = await startDouble({ vendor: vendor satisfies VendorName, script })
  t.after(() => double.close())
  const { make, path } = vendors[vendor]
  return { model: make({ model, apiKey: 'k', baseUrl: `${double.url}${path}`, limits }), double }
}

/** The bodies of the requests that the vendor took. It must have refused none. */
export function bodies(double: RunningDouble): JsonObject[] {
  assert.deepEqual(double.rejections(), [])
  assert.deepEqual(double.harnessErrors(), [])
  return double.exchanges.flatMap(({ body }) => (isJsonObject(body) ? [body] : []))
}

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])

/** The tools that the request declares in its list of tools, as they are. */
export function toolsIn(body: JsonObject): JsonObject[] {
  return objects(body['tools']).flatMap(tool => {
    const declared = tool['functionDeclarations']
    if (declared !== undefined) return objects(declared)
    return isJsonObject(tool['function']) ? [tool['function']] : [tool]
  })
}

export const nameOf = (tool: JsonObject): string => asString(tool['name']) || asString(tool['type'])

export const find = (query: string, id?: string): ScriptedTurn => ({
  calls: [{ name: 'find_tools', input: { query }, ...(id !== undefined && { id }) }],
})
export const call = (name: string, input: JsonObject = {}): ScriptedTurn => ({ calls: [{ name, input }] })
export const says = (text: string): ScriptedTurn => ({ text })
