// Token counts of a scripted turn: those that the script gives, else an estimate from lengths that is the same in every
// run. Each endpoint gives the counts its own names.
import { type ScriptedTurn, scriptedText, thinkingOf } from '../script.ts'
import { tokensIn } from '../shape.ts'

type TokenCounts = { input: number; cached: number; output: number; reasoning: number }

/** The names under which a script may give a count, neutral or as a vendor calls it. */
const COUNT_NAMES: Record<keyof TokenCounts, string[]> = {
  input: ['input', 'input_tokens', 'prompt_tokens', 'inputTokens'],
  cached: ['cached', 'cached_tokens', 'cache_read_input_tokens', 'cacheReadTokens'],
  output: ['output', 'output_tokens', 'completion_tokens', 'outputTokens'],
  reasoning: ['reasoning', 'reasoning_tokens', 'thinking_tokens', 'reasoningTokens'],
}

export function countTokens(turn: ScriptedTurn, requestText: string): TokenCounts {
  const output = (turn.text ?? '') + (turn.refusal ?? '') + (turn.calls ?? []).map(scriptedText).join('')
  const reasoning = scriptedCount(turn, 'reasoning') ?? tokensIn(thinkingOf(turn)?.text ?? '')
  return {
    input: scriptedCount(turn, 'input') ?? tokensIn(requestText),
    cached: scriptedCount(turn, 'cached') ?? 0,
    output: scriptedCount(turn, 'output') ?? Math.max(1, tokensIn(output)) + reasoning,
    reasoning,
  }
}

function scriptedCount(turn: ScriptedTurn, count: keyof TokenCounts): number | undefined {
  const name = COUNT_NAMES[count].find(candidate => turn.usage?.[candidate] !== undefined)
  return name === undefined ? undefined : turn.usage?.[name]
}
