// Context sizes of the vendors' own models. Sizes that depend on a plan, a header or a date are not here: the operator
// sets `contextTokens`.

const WINDOWS: readonly (readonly [name: RegExp, tokens: number])[] = [
  [/^claude-3-[57]-|^claude-(?:opus-4(?:-[015])?|sonnet-4(?:-[05])?|haiku-4-5)(?:-\d{8})?$/, 200_000],
  [/^(?:gpt-4o|gpt-4-turbo|chatgpt-4o)/, 128_000],
  [/^gpt-4\.1/, 1_047_576],
  [/^(?:o1|o3|o3-mini|o3-pro|o4-mini)(?:-\d{4}-\d{2}-\d{2})?$/, 200_000],
  [/^gpt-5(?:\.[12])?(?:-mini|-nano|-pro|-codex)?(?:-\d{4}-\d{2}-\d{2})?$/, 400_000],
  [/^gemini-(?:2\.[05]-flash|2\.5-pro|3-(?:pro|flash))/, 1_048_576],
]

/** Undefined if unknown. */
export function contextSize(model: string): number | undefined {
  const name = model.toLowerCase()
  return WINDOWS.find(([pattern]) => pattern.test(name))?.[1]
}
