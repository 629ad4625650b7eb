// The words in which the suite asks an agent to do something. A model of any vendor follows them; so does the model of the
// agent that is made for the suite, which reads nothing else.
import { randomUUID } from 'node:crypto'
import type { ModelRequest } from '../engine/ports/index.ts'
import { joinText } from '../language/content.ts'
import { isJsonObject, type JsonObject } from '../lib/json/index.ts'
import type { ScriptStep, StepCall } from '../models/scripted/index.ts'
import { parsed } from './check.ts'

/** What the agent is to answer: no request has it by chance. */
export function newWord(): string {
  return `word-${randomUUID().slice(0, 8)}`
}

export function askToSay(word: string): string {
  return `Reply with exactly this and nothing else: ${word}`
}

export function askToCall(
  calls: readonly (readonly [tool: string, input: JsonObject])[],
  word: string,
): string {
  const lines = calls.map(
    ([tool, input]) => `Call the tool ${tool} exactly once with these arguments: ${JSON.stringify(input)}`,
  )
  return [...lines, `When you have every result: ${askToSay(word)}`].join('\n')
}

/** No model counts here: a server that is to tell a usage has one to tell. */
const usage = { input: 12, output: 3 }

/** What a model that follows these words does next. */
export function followWords({ history }: Pick<ModelRequest, 'history'>): ScriptStep {
  const last = history.findLastIndex(({ role }) => role === 'user')
  const entry = history[last]
  const asked = entry?.role === 'user' ? joinText(entry.parts) : ''
  const isAnswered = history.slice(last + 1).some(({ role }) => role === 'tool')
  const calls = isAnswered ? [] : callsIn(asked)
  if (calls.length > 0) return { calls, usage }
  return { text: /nothing else: (\S+)/.exec(asked)?.[1] ?? 'Nothing was asked for.', chunk: 5, usage }
}

function callsIn(asked: string): StepCall[] {
  return [...asked.matchAll(/^Call the tool (\S+) exactly once with these arguments: (\{.*\})$/gm)].flatMap(
    ([, name = '', json = '']) => {
      const input = parsed(json)
      // `parsed` gives JSON, and this is an object.
      return isJsonObject(input) ? [{ name, input }] : []
    },
  )
}
