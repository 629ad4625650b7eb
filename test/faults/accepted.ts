// Whether every vendor would take a history: it is encoded by the real codecs, and the bodies are put to the rules of the
// strict doubles.
import type { Entry } from '../../src/language/history.ts'
import {
  anthropic,
  gemini,
  geminiInteractions,
  openai,
  openaiChat,
  preparedFor,
} from '../../src/models/index.ts'
import { checkRequestAll, type VendorName } from '../../src/testing/index.ts'

const vendors = [
  ['anthropic', anthropic, 'claude-sonnet-4-5'],
  ['openai-responses', openai, 'gpt-5.2'],
  ['openai-chat', openaiChat, 'gpt-5.2'],
  ['gemini', gemini, 'gemini-3-pro'],
  ['gemini-interactions', geminiInteractions, 'gemini-3-pro'],
] as const satisfies readonly (readonly [VendorName, unknown, string])[]

const models = vendors.map(([vendor, make, model]) => ({ vendor, model, made: make({ model, apiKey: 'k' }) }))

/** What vendors would say against it. Empty: all of them take it. */
export function refusals(history: readonly Entry[]): string[] {
  return models.flatMap(({ vendor, model, made }) => {
    const prepared = preparedFor(made, {
      session: 's',
      history,
      tools: [],
      choice: 'auto',
      parallel: true,
      options: {},
    })
    if (!prepared) return [`${vendor}: there is no request`]
    const found = checkRequestAll(vendor, JSON.parse(prepared.body), { model })
    return found.map(({ rule, message }) => `${vendor}: ${rule} ${message}`)
  })
}
