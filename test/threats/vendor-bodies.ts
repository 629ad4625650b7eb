// What each vendor would be sent for one request, by the name of its protocol.
import type { ModelRequest } from '../../src/engine/ports/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { protocols } from '../../src/models/index.ts'

const models: Record<string, string> = {
  anthropicMessages: 'claude-sonnet-4-5',
  geminiGenerate: 'gemini-2.5-pro',
  geminiInteractions: 'gemini-2.5-pro',
  openaiChat: 'gpt-5',
  openaiResponses: 'gpt-5',
}

export function vendorBodies(request: Partial<ModelRequest>): [string, JsonObject][] {
  return Object.entries(protocols).map(([name, protocol]) => {
    const { body } = protocol.prepare(
      { session: 's', history: [], tools: [], choice: 'auto', parallel: true, options: {}, ...request },
      {
        model: models[name] ?? 'm',
        family: 'f',
        maxTokens: 1000,
        body: {},
        hosted: [],
        quirks: new Set(),
        stateful: false,
      },
    )
    return [name, JSON.parse(body) as JsonObject]
  })
}
