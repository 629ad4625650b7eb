/**
 * Token counts for a scripted turn: what the script says, else an estimate from lengths that never varies
 * between runs. Only the counting is here; each endpoint names the counts its own way.
 */
import { argumentsText, type ScriptedTurn, thinkingOf } from '../script.ts'

export type Counts = { input: number; cached: number; output: number; reasoning: number }

const CHARACTERS_PER_TOKEN = 4

/** The names under which a script may give a count, neutral or as a vendor calls it. */
const NAMES: Record<keyof Counts, string[]> = {
  input: ['input', 'input_tokens', 'prompt_tokens', 'inputTokens'],
  cached: ['cached', 'cached_tokens', 'cache_read_input_tokens', 'cacheReadTokens'],
  output: ['output', 'output_tokens', 'completion_tokens', 'outputTokens'],
  reasoning: ['reasoning', 'reasoning_tokens', 'thinking_tokens', 'reasoningTokens'],
}

export function countTokens(turn: ScriptedTurn, requestText: string): Counts {
  const thought = thinkingOf(turn)?.text ?? ''
  const said = (turn.text ?? '') + (turn.refusal ?? '') + (turn.calls ?? []).map(argumentsText).join('')
  const reasoning = given(turn, 'reasoning') ?? estimate(thought)
  return {
    input: given(turn, 'input') ?? estimate(requestText),
    cached: given(turn, 'cached') ?? 0,
    output: given(turn, 'output') ?? Math.max(1, estimate(said)) + reasoning,
    reasoning,
  }
}

function given(turn: ScriptedTurn, count: keyof Counts): number | undefined {
  const name = NAMES[count].find(candidate => turn.usage?.[candidate] !== undefined)
  return name === undefined ? undefined : turn.usage?.[name]
}

function estimate(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN)
}
