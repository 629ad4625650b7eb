// Takes secrets out of what tools give, by rule: an operator's own patterns, and ready ones for the usual shapes
// of keys and tokens. An operator's pattern runs on RE2, because the text it meets is hostile; the ready ones
// are native, each written so that no text makes it scan the same characters more than a few times.
// It is a net for accidents, not a wall: a secret in an unknown shape, or split over two parts, passes.
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { TurnwireError } from '../language/errors.ts'

export type RedactRule = {
  /** Shown in place of what was taken out, unless `replace` says otherwise. */
  name: string
  /** RE2 syntax: no look-around, no back-references. Of a RegExp the source and the flags `i`, `m`, `s` count. */
  pattern: string | RegExp
  /** Put in its place as it stands. */
  replace?: string
}

type Ready = { hint: RegExp; pattern: RegExp }

const ready = {
  'private-keys': {
    hint: /PRIVATE KEY/,
    // A block without an end is taken out to the end of the text: half a key is still a secret.
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  },
  jwts: {
    hint: /eyJ/,
    pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}/g,
  },
  'bearer-tokens': {
    hint: /bearer/i,
    pattern: /(?<![A-Za-z0-9])bearer[ \t]{1,8}(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{16,}/gi,
  },
  'api-keys': {
    hint: /sk[-_]|rk_|gh[pousr]_|github_pat_|xox|AIza/,
    pattern:
      /(?<![A-Za-z0-9])(?:sk-[A-Za-z0-9_-]{16,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{35})/g,
  },
  'aws-keys': {
    hint: /A[KS]IA|secret_access_key|SECRET_ACCESS_KEY|ecretAccessKey/,
    pattern:
      /(?<![A-Z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])|(?<=(?:secret_access_key|SECRET_ACCESS_KEY|ecretAccessKey)\\?["']?\s{0,8}[=:]\s{0,8}\\?["']?)[A-Za-z0-9/+=]{40}/g,
  },
} as const satisfies Record<string, Ready>

/** `secrets` stands for all of the others. */
export type ReadyRedaction = keyof typeof ready | 'secrets'

export type Tally = { count: number }
/** Adds what it took out to the tally. */
export type Redactor = (text: string, tally: Tally) => string

/** Null when there is nothing to do, so that callers can leave text untouched. */
export function createRedactor(rules: readonly (RedactRule | ReadyRedaction)[]): Redactor | null {
  const redactors = rules.flatMap(compileRule)
  if (redactors.length === 0) return null
  return (text, tally) => {
    let result = text
    for (const redact of redactors) result = redact(result, tally)
    return result
  }
}

function compileRule(rule: RedactRule | ReadyRedaction, index: number): Redactor[] {
  if (rule === 'secrets') return Object.entries(ready).map(([name, entry]) => readyRedactor(name, entry))
  if (typeof rule !== 'string') return [ownRedactor(rule, `redact[${index}]`)]
  if (!Object.hasOwn(ready, rule))
    refuse(
      `redact[${index}]`,
      `names the unknown set ${JSON.stringify(rule)}. Known are: secrets, ${Object.keys(ready).join(', ')}`,
    )
  return [readyRedactor(rule, ready[rule])]
}

function readyRedactor(name: string, { hint, pattern }: Ready): Redactor {
  const words = `[redacted: ${name}]`
  return (text, tally) => {
    if (!hint.test(text)) return text
    return text.replace(pattern, () => {
      tally.count++
      return words
    })
  }
}

function ownRedactor(rule: RedactRule, where: string): Redactor {
  if (typeof rule.name !== 'string' || rule.name === '')
    refuse(`${where}.name`, 'must be a text that is not empty')
  if (rule.replace !== undefined && typeof rule.replace !== 'string')
    refuse(`${where}.replace`, 'must be a text')
  const pattern = compilePattern(rule.pattern, `${where}.pattern`)
  const words = rule.replace ?? `[redacted: ${rule.name}]`
  return (text, tally) => replaceAll(pattern, text, words, tally)
}

function compilePattern(pattern: string | RegExp, where: string): RE2JS {
  if (typeof pattern !== 'string' && !(pattern instanceof RegExp)) refuse(where, 'must be a text or a RegExp')
  const re2 = loadRe2()
  let flags = 0
  if (pattern instanceof RegExp) {
    if (pattern.sticky) refuse(where, 'must not have the flag "y"')
    if (pattern.ignoreCase) flags |= re2.CASE_INSENSITIVE
    if (pattern.multiline) flags |= re2.MULTILINE
    if (pattern.dotAll) flags |= re2.DOTALL
  }
  let compiled: RE2JS
  try {
    compiled =
      pattern instanceof RegExp
        ? re2.compile(re2.translateRegExp(pattern.source), flags)
        : re2.compile(pattern, flags)
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    return refuse(
      where,
      `is not a pattern that RE2 knows (${cause}). Look-around and back-references do not exist there`,
    )
  }
  if (compiled.matcher('').find()) refuse(where, 'matches the empty text, so it would match everywhere')
  return compiled
}

/** Loaded at the first own pattern only: most installations have none. */
function loadRe2(): typeof RE2JS {
  // The package's own types describe what it exports; `require` alone is typed `any`.
  const module = createRequire(import.meta.url)('re2js') as { RE2JS: typeof RE2JS }
  return module.RE2JS
}

function replaceAll(pattern: RE2JS, text: string, words: string, tally: Tally): string {
  const matcher = pattern.matcher(text)
  let result = ''
  let from = 0
  while (matcher.find()) {
    const start = matcher.start()
    const end = matcher.end()
    if (end === start) continue
    result += text.slice(from, start) + words
    from = end
    tally.count++
  }
  return from === 0 ? text : result + text.slice(from)
}

function refuse(where: string, problem: string): never {
  throw new TurnwireError('config_invalid', `${where} ${problem}.`)
}
