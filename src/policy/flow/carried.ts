// What a free text carries besides words: links, addresses, codes and long numbers. Dates and times are none of them.
import { hasHidden } from './fold.ts'

const dates =
  /(?<!\p{N})\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?(?![\p{N}-])|(?<!\p{N})\d{1,2}:\d{2}(?::\d{2})?(?![\p{N}:])/gu
const ideographicStops = /[\u3002\uff0e\uff61]/gu

// Each begins where a run of its characters begins, so that a long run is read once and not from each of its characters.
const patterns: readonly RegExp[] = [
  // Anything with a scheme, also one that is written so that nobody opens it by mistake.
  /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/[^\s<>"'`]+/giu,
  /(?<![\p{L}\p{N}])(?:mailto|data|javascript|tel|sms|xmpp|magnet|file):[^\s<>"'`]+/giu,
  /(?<![^\s<>"'`(),;:[\]{}])[^\s<>"'`(),;:[\]{}@]+@[^\s<>"'`(),;:[\]{}]+/gu,
  /(?<![\p{L}\p{N}])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:\/[^\s<>"'`]*)?/gu,
  /(?<![\p{L}\p{N}.-])(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}(?::\d+)?(?:[/?#][^\s<>"'`]*)?/gu,
  /(?<![\p{L}\p{N}-])[\p{L}\p{N}-]+\s*(?:\[\.\]|\(\.\)|\{\.\}|[[({]dot[\])}])\s*\p{L}{2,}[^\s<>"'`]*/giu,
  /(?<![\p{L}\p{N}-])[\p{L}\p{N}-]+\s+dot\s+(?:com|net|org|io|dev|app|info|co|\p{L}{2})(?!\p{L})/giu,
]
const code = /(?<![\p{L}\p{N}_-])(?=[\p{L}\p{N}_-]*\p{L})(?=[\p{L}\p{N}_-]*\p{N})[\p{L}\p{N}_-]{6,}/gu
/** "1-hour", "30-minute", "3rd": a count and its unit. */
const counted = /^\d{1,3}[-_]?\p{L}+(?:-\p{L}+)*$/u
const long = /(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{24,}/g
const digits = /\+?\d(?:[ ./-]?\d)*/gu
/** Names of files that no address ends with. */
const fileName =
  /^[\p{L}\p{N}_.-]+\.(?:docx?|xlsx?|pptx?|pdf|txt|csv|png|jpe?g|gif|svg|json|ya?ml|xml|html?|log|ts|js|tsx|jsx|css|odt|ods)$/iu

const longNumber = 5

/** Most texts hold nothing that could be any of them. */
const plain = /^[\t\n\r\x20-\x7e]*$/
const mayCarry = /[@/\\\d[({]|[.:]\S|dot|[A-Za-z+=_-]{24}/i

/** Each of them once, as it is written. `broken`: one of them is interrupted by what nobody sees. */
export function carriedBy(text: string): { found: string[]; broken: boolean } {
  if (plain.test(text) && !mayCarry.test(text)) return { found: [], broken: false }
  const shown = text.normalize('NFKC').replace(ideographicStops, '.')
  const visible = hasHidden(shown) ? shown.replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, '') : shown
  const found = new Set<string>()
  let rest = visible.replace(dates, ' ')
  const take = (pattern: RegExp, isOne: (token: string) => boolean): void => {
    rest = rest.replace(pattern, match => {
      const token = trimEnd(match)
      if (!isOne(token)) return match
      found.add(token)
      return ' '
    })
  }
  for (const pattern of patterns) take(pattern, token => !fileName.test(token))
  take(long, () => true)
  take(code, token => !counted.test(token))
  take(digits, isLong)
  const list = [...found]
  return { found: list, broken: visible !== shown && list.some(token => !shown.includes(token)) }
}

const closing: ReadonlySet<string> = new Set('.,;:!?)]}>\'"'.split(''))

function trimEnd(token: string): string {
  let end = token.length
  while (end > 0 && closing.has(token[end - 1] ?? '')) end -= 1
  return token.slice(0, end)
}

/** Decimals do not make a number long. */
function isLong(token: string): boolean {
  const whole = /^\+?\d+[.]\d{1,2}$/u.test(token) ? token.slice(0, token.indexOf('.')) : token
  return whole.replace(/\D/g, '').length >= longNumber
}
