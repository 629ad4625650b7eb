// The Messages wire in front of a strict double of each vendor.
import assert from 'node:assert/strict'
import type { Model } from '../../../src/engine/index.ts'
import { anthropic, gemini, geminiInteractions, openai, openaiChat } from '../../../src/models/index.ts'
import type { ScriptedTurn, VendorName } from '../../../src/testing/index.ts'
import { double, serve } from '../stateless/rig.ts'

export const models: Record<string, (url: string) => Model> = {
  anthropic: baseUrl => anthropic({ model: 'claude-opus-4-6', apiKey: 'k', baseUrl }),
  gemini: url => gemini({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` }),
  'gemini-interactions': url =>
    geminiInteractions({ model: 'gemini-3-pro', apiKey: 'k', baseUrl: `${url}/v1beta` }),
  'openai-chat': url => openaiChat({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` }),
  'openai-responses': url => openai({ model: 'gpt-5', apiKey: 'k', baseUrl: `${url}/v1` }),
}
export const vendors = Object.keys(models) as VendorName[]

// biome-ignore lint/suspicious/noExplicitAny: bodies of five vendors, read by path
export type Body = any

export async function rig(
  t: Parameters<typeof double>[0],
  vendor: VendorName,
  script: ScriptedTurn[] = [{ text: 'Yes.' }],
) {
  const behind = await double(t, vendor, script)
  const { post } = await serve(t, { helper: models[vendor]!(behind.url) })
  return {
    behind,
    post: (body: object, headers: Record<string, string> = {}) =>
      post('/v1/messages?beta=true', body, headers),
    sent: (): Body => behind.exchanges.at(-1)!.body,
    accepted: () => assert.deepEqual(behind.rejections(), []),
  }
}
