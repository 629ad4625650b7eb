// A script for the model: its answers, one after the other, played through manual control. The gate, the tools and the log
// are the real ones; only the model's words come from here.
import type { CommandAccepted, OperatorCommand, OperatorSessionState } from '../../../../src/client/index.ts'
import { isJsonObject, type JsonObject } from '../../../../src/lib/json/index.ts'

export type ScriptedAnswer = { text: string; calls: { tool: string; input: JsonObject }[] }

export const exampleScript = `[
  { "call": "get_weather", "input": { "city": "Oslo" } },
  { "text": "Oslo is wet. Shall I send a mail?", "call": "send_mail", "input": { "to": "ana@example.org", "body": "Bring an umbrella" } },
  { "text": "Done." }
]`

/** Throws an Error that says what is wrong. */
export function readScript(text: string): ScriptedAnswer[] {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Error(
      'The script is no JSON. It is a list: [ { "call": "…", "input": { … } }, { "text": "…" } ]',
      { cause },
    )
  }
  if (!Array.isArray(value) || value.length === 0)
    throw new Error('The script is a list of answers, at least one.')
  return value.map((answer: unknown, index) => {
    if (!isJsonObject(answer)) throw new Error(`Answer ${index + 1} is no object.`)
    const { text: said = '', call, input = {} } = answer
    if (typeof said !== 'string') throw new Error(`Answer ${index + 1}: "text" is no text.`)
    if (call === undefined && said === '')
      throw new Error(`Answer ${index + 1} has neither "text" nor "call".`)
    if (call !== undefined && (typeof call !== 'string' || !isJsonObject(input)))
      throw new Error(`Answer ${index + 1}: "call" is a tool's name, and "input" an object.`)
    return {
      text: said,
      calls: typeof call === 'string' && isJsonObject(input) ? [{ tool: call, input }] : [],
    }
  })
}

export type ScriptSession = {
  session(): Promise<OperatorSessionState>
  command(command: OperatorCommand): Promise<CommandAccepted>
  /** Resolves when something has happened in the session. */
  changed(): Promise<void>
}

/** Plays until the turn is over. Calls that wait for a person or for the page are left to them. */
export async function playScript(
  session: ScriptSession,
  script: readonly ScriptedAnswer[],
  say: string,
): Promise<void> {
  await session.command({ do: 'take-control' })
  try {
    await session.command({ do: 'say', text: say })
    const left = [...script]
    for (let rounds = 0; rounds < 500; rounds += 1) {
      const { next } = await session.session()
      if (next.do === 'rest') return
      if (next.do === 'await' || next.do === 'wait') {
        await session.changed()
        continue
      }
      const answer =
        next.do === 'ask-model' ? (left.shift() ?? { text: '(the script is over)', calls: [] }) : undefined
      await session.command(answer ? { do: 'answer-model', ...answer } : { do: 'perform' })
    }
  } finally {
    await session.command({ do: 'release-control' })
  }
}
