// Removes secrets from tool output by rule: an operator's own patterns, and built-in ones for the usual forms of keys
// and tokens (lib/text/secret-forms.ts). An operator's pattern runs on RE2, because the text may be hostile. This
// catches accidents only: a secret of an unknown form, or split over two parts, is not found.
import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import type { Live } from '../engine/ports/index.ts'
import { errorMessage } from '../lib/text/error-message.ts'
import { type SecretForm, secretForms } from '../lib/text/secret-forms.ts'
import { invalidPolicy } from './invalid-policy.ts'

export type RedactRule = {
  /** Shown in place of the match, unless `replace` is set. */
  name: string
  /** RE2 syntax: no look-around, no back-references. Of a RegExp, the source and the flags `i`, `m` and `s` are used. */
  pattern: string | RegExp
  /** Shown in place of the match. */
  replace?: string
}

/** `secrets` means all of the others. */
export type BuiltInRedaction = keyof typeof secretForms | 'secrets'

export type Tally = { count: number }
/** Adds the number of removed matches to the tally. */
export type Redactor = (text: string, tally: Tally) => string

/** Null when there are no rules. */
export function createRedactor(rules: readonly (RedactRule | BuiltInRedaction)[]): Redactor | null {
  const redactors = rules.flatMap(compileRule)
  if (redactors.length === 0) return null
  return (text, tally) => {
    let result = text
    for (const redact of redactors) result = redact(result, tally)
    return result
  }
}

function compileRule(rule: RedactRule | BuiltInRedaction, index: number): Redactor[] {
  if (rule === 'secrets')
    return Object.entries(secretForms).map(([name, entry]) => builtInRedactor(name, entry))
  if (typeof rule !== 'string') return [ownRedactor(rule, `redact[${index}]`)]
  if (!Object.hasOwn(secretForms, rule))
    invalidPolicy(
      `redact[${index}]`,
      `names the unknown set ${JSON.stringify(rule)}. Known are: secrets, ${Object.keys(secretForms).join(', ')}`,
    )
  return [builtInRedactor(rule, secretForms[rule])]
}

function builtInRedactor(name: string, { hint, pattern }: SecretForm): Redactor {
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
    invalidPolicy(`${where}.name`, 'must be a text that is not empty')
  if (rule.replace !== undefined && typeof rule.replace !== 'string')
    invalidPolicy(`${where}.replace`, 'must be a text')
  const pattern = compilePattern(rule.pattern, `${where}.pattern`)
  const words = rule.replace ?? `[redacted: ${rule.name}]`
  return (text, tally) => replaceAll(pattern, text, words, tally)
}

function compilePattern(pattern: string | RegExp, where: string): RE2JS {
  if (typeof pattern !== 'string' && !(pattern instanceof RegExp))
    invalidPolicy(where, 'must be a text or a RegExp')
  const re2 = loadRe2()
  let flags = 0
  if (pattern instanceof RegExp) {
    if (pattern.sticky) invalidPolicy(where, 'must not have the flag "y"')
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
    return invalidPolicy(
      where,
      `is not a pattern that RE2 knows (${errorMessage(error)}). Look-around and back-references do not exist there`,
    )
  }
  if (compiled.matcher('').find())
    invalidPolicy(where, 'matches the empty text, so it would match everywhere')
  return compiled
}

/** Loaded with the first own pattern, because most installations have none. */
function loadRe2(): typeof RE2JS {
  // `require` is untyped. This is what the package declares.
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

// ---- live output -----------------------------------------------------------------------------------------------

/** A longer line is shown up to its last space. */
const longLine = 8 * 1024
/** At most this much is held back. */
const mostHeld = 64 * 1024

/**
 * Redacts what a tool shows while it runs. A secret may arrive in pieces, so a line is held back until it is complete,
 * and a secret of several lines until it ends. People see this; the model reads the result, which is redacted as one text.
 */
export function redactLive(redactor: Redactor): Live {
  const tally: Tally = { count: 0 }
  let held = ''
  return {
    take(piece) {
      held += piece
      const end = held.length > mostHeld ? held.length : lastBreak(held)
      if (end === 0) return ''
      const ready = held.slice(0, end)
      if (end < mostHeld && mayContinue(ready, redactor)) return ''
      held = held.slice(end)
      return redactor(ready, tally)
    },
    rest() {
      const ready = held
      held = ''
      return redactor(ready, tally)
    },
  }
}

/** The index after the last line end or, in a long line without one, after the last space. */
function lastBreak(text: string): number {
  const line = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
  return line > 0 || text.length <= longLine ? line : text.lastIndexOf(' ') + 1
}

const endMark = '\u0001'

/** Whether a match reaches the end of the text, and so may continue: a key block that has only begun. */
function mayContinue(text: string, redactor: Redactor): boolean {
  return !redactor(text + endMark, { count: 0 }).endsWith(endMark)
}
