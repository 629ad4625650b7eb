// Valid requests of every codec, broken at random: messages and blocks lost, doubled or swapped. The vendor must accept
// every repaired request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Entry } from '../../src/language/history.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/lib/json/index.ts'
import { type Protocol, protocols } from '../../src/models/index.ts'
import { checkHistory, type DoctorVendor, doctorVendors, repairHistory } from '../../src/testing/index.ts'
import { clientTool } from '../engine/rig.ts'

const codecs: Record<DoctorVendor, Protocol> = {
  anthropic: protocols.anthropicMessages,
  'openai-chat': protocols.openaiChat,
  'openai-responses': protocols.openaiResponses,
  gemini: protocols.geminiGenerate,
  'gemini-interactions': protocols.geminiInteractions,
}

const models: Record<DoctorVendor, string> = {
  anthropic: 'claude-sonnet-4-6',
  'openai-chat': 'gpt-5.2',
  'openai-responses': 'gpt-5.2',
  gemini: 'gemini-3-pro',
  'gemini-interactions': 'gemini-3-pro',
}

function history(): Entry[] {
  const entries: Entry[] = []
  for (let round = 0; round < 3; round++) {
    const ids = [`call_${round}a`, `call_${round}b`]
    entries.push({ role: 'user', parts: [{ type: 'text', text: `Ask ${round}.` }] })
    entries.push({
      role: 'assistant',
      parts: [
        { type: 'text', text: 'Let me see.' },
        ...ids.map(id => ({ type: 'call', id, name: 'read', form: 'json', text: '{}' }) as const),
      ],
    })
    const outcome = {
      kind: 'ok',
      parts: [{ type: 'text', text: 'Seen.' }],
      from: { source: 'client' },
    } as const
    entries.push({
      role: 'tool',
      results: ids.map(callId => ({
        callId,
        name: 'read',
        outcome: { ...outcome, parts: [...outcome.parts] },
      })),
    })
  }
  return entries
}

const listKey: Record<DoctorVendor, string> = {
  anthropic: 'messages',
  'openai-chat': 'messages',
  'openai-responses': 'input',
  gemini: 'contents',
  'gemini-interactions': 'input',
}

function soundBody(vendor: DoctorVendor): JsonObject {
  const { body } = codecs[vendor].prepare(
    {
      session: 's',
      system: 'Be brief.',
      history: history(),
      tools: [clientTool('read')],
      choice: 'auto',
      parallel: true,
      options: {},
    },
    {
      model: models[vendor],
      family: 'f',
      maxTokens: 1000,
      body: {},
      hosted: [],
      quirks: new Set(),
      stateful: false,
    },
  )
  const parsed: Json = JSON.parse(body)
  assert.ok(isJsonObject(parsed))
  return parsed
}

type Damage = { kind: 'lose' | 'double' | 'swap'; at: number; inner: boolean; place: number }
const damage = fc.record<Damage>({
  kind: fc.constantFrom('lose', 'double', 'swap'),
  at: fc.nat(30),
  inner: fc.boolean(),
  place: fc.nat(5),
})

function applyDamage(list: Json[], { kind, at, inner, place }: Damage): void {
  if (list.length === 0) return
  const index = at % list.length
  const item = list[index]
  const within = isJsonObject(item) ? (item['content'] ?? item['parts'] ?? item['tool_calls']) : undefined
  if (inner && Array.isArray(within) && within.length > 1) {
    applyDamage(within, { kind, at: place, inner: false, place: 0 })
    return
  }
  if (kind === 'lose') list.splice(index, 1)
  else if (kind === 'double') list.splice(index, 0, structuredClone(item ?? null))
  else [list[index], list[(index + 1) % list.length]] = [list[(index + 1) % list.length]!, list[index]!]
}

for (const vendor of doctorVendors)
  test(`${vendor}: lost, doubled and swapped messages are repaired`, () => {
    assert.deepEqual(checkHistory(vendor, soundBody(vendor)), [])
    fc.assert(
      fc.property(fc.array(damage, { minLength: 1, maxLength: 5 }), damages => {
        const body = soundBody(vendor)
        const list = body[listKey[vendor]]
        assert.ok(Array.isArray(list))
        for (const each of damages) applyDamage(list, each)
        if (list.length === 0) return
        const { left, body: mended, changes } = repairHistory(vendor, body)
        assert.equal(
          changes.length > 0,
          JSON.stringify(mended) !== JSON.stringify(body),
          'every change is reported',
        )
        for (const words of JSON.stringify(body).match(/Ask \d/g) ?? [])
          assert.ok(JSON.stringify(mended).includes(words), 'no message is lost')
        assert.deepEqual(left, [], `${JSON.stringify(body)}\n${JSON.stringify(mended)}`)
      }),
      { numRuns: 300 },
    )
  })
