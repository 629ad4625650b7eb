// Reads a request's bytes the way a strict server does: the right content type, valid UTF-8, JSON, no lone surrogate.
// It names the problem; each vendor words it. Lone surrogates are looked for in the text, since parsing hides them.

/** A body that could not be read as JSON. `at` is the character offset. */
export type BodyProblem = { kind: 'json' | 'surrogate' | 'utf8' | 'content-type'; at: number; detail: string }

type ParsedBody = { body: unknown; problem: BodyProblem | null }

export function parseBody(bytes: Buffer, contentType: string): ParsedBody {
  if (!/^application\/json\b/i.test(contentType)) {
    return { body: undefined, problem: { kind: 'content-type', at: 0, detail: contentType } }
  }
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return { body: undefined, problem: { kind: 'utf8', at: 0, detail: 'invalid UTF-8' } }
  }
  try {
    return { body: JSON.parse(text), problem: surrogateProblem(text) }
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    const at = Number(/position (\d+)/.exec(detail)?.[1] ?? text.length)
    return { body: undefined, problem: { kind: 'json', at, detail } }
  }
}

const ESCAPED_UNIT = /\\(?:u([0-9a-fA-F]{4})|[^u])/g

/** Where JSON text holds half a surrogate pair, written as an escape (`"\ud83d"`), or `null`. */
export function surrogateProblem(text: string): BodyProblem | null {
  let high: { at: number; end: number } | null = null
  const problem = (at: number, half: string): BodyProblem => ({
    kind: 'surrogate',
    at,
    detail: `no ${half} surrogate in string`,
  })
  for (const match of text.matchAll(ESCAPED_UNIT)) {
    const unit = match[1] === undefined ? 0 : Number.parseInt(match[1], 16)
    const isLow = unit >= 0xdc00 && unit <= 0xdfff
    if (high && !(isLow && high.end === match.index)) return problem(high.at, 'low')
    if (isLow && !high) return problem(match.index, 'high')
    high = unit >= 0xd800 && unit <= 0xdbff ? { at: match.index, end: match.index + match[0].length } : null
  }
  return high ? problem(high.at, 'low') : null
}
