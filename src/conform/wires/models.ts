// What the checks of several wires share: the name of the model that is asked for, and tools of the client.
import { need, text } from '../check.ts'
import type { Trial } from '../trial.ts'

export async function modelName(at: Trial): Promise<string> {
  if (at.target.agent !== undefined) return at.target.agent
  const name = text((await at.ask('/v1/models')).json, 'data', 0, 'id')
  need(name !== '', 'GET /v1/models names no model. Name one with --agent.')
  return name
}

export const readClipboard = {
  name: 'read_clipboard',
  description: 'Reads the clipboard.',
  parameters: { type: 'object', properties: {} },
}

export const lookUp = {
  name: 'look_up',
  description: 'Looks something up.',
  parameters: {
    type: 'object',
    properties: { text: { type: 'string' } },
    required: ['text'],
    additionalProperties: false,
  },
}
