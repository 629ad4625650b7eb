// What a free text carries besides words: links, addresses, codes and long numbers. Dates and times are none of them.
import { hasHidden } from './fold.ts'

const clock = '(?:[01]?\\d|2[0-4]):[0-5]\\d(?::[0-5]\\d)?'
const day = '(?:0?[1-9]|[12]\\d|3[01])'
const month = '(?:0?[1-9]|1[0-2])'
const year = '(?:19|20)\\d\\d'
const dates = new RegExp(
  `(?<![\\p{N}./-])(?:${day}[./]${month}[./]${year}|${month}/${day}/${year}|${year}(?:/${month}/${day}|\\s?[-–—/]\\s?${year}))(?![\\p{N}/-]|\\.\\p{N})|(?<!\\p{N})[12]\\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?:[T ]${clock})?(?![\\p{N}-])|(?<!\\p{N})${clock}(?![\\p{N}:])`,
  'gu',
)
/** Other alphabets' signs for the end of a sentence, and dots at other heights. */
const otherStops = /[\u3002\uff0e\uff61\u2027\u06d4\u0701\u0702]/gu

const topLevel =
  'com|net|org|io|dev|app|info|co|biz|xyz|me|ai|eu|test|store|shop|site|online|club|live|link|page|cloud|tech|news|blog|pro|top|click'

// Each begins where a run of its characters begins, so that a long run is read once and not from each of its characters.
const patterns: readonly RegExp[] = [
  // Anything with a scheme, also one that is written so that nobody opens it by mistake.
  /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/[^\s<>"'`]+/giu,
  /(?<![\p{L}\p{N}])(?:h(?:tt|xx)ps?|mailto|data|javascript|tel|sms|xmpp|magnet|file):[^\s<>"'`]+/giu,
  // A host without a scheme, or one on the network of the house.
  /(?<![:/\p{L}\p{N}])\/\/[\p{L}\p{N}[][^\s<>"'`]*/gu,
  /(?<![\\\p{L}\p{N}])\\\\[\p{L}\p{N}][^\s<>"'`]*/gu,
  /(?<![^\s<>"'`(),;:[\]{}])[^\s<>"'`(),;:[\]{}@]+@[^\s<>"'`(),;:[\]{}]+/gu,
  /(?<![\p{L}\p{N}])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?:\/[^\s<>"'`]*)?/gu,
  /(?<![\p{L}\p{N}.-])(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}(?::\d+)?(?:[/?#][^\s<>"'`]*)?/gu,
  /(?<![\p{L}\p{N}-])[\p{L}\p{N}-]+\s*(?:\[\.\]|\(\.\)|\{\.\}|[[({]dot[\])}])\s*\p{L}{2,}[^\s<>"'`]*/giu,
  /(?<![^\s(),;])[^\s(),;]{1,64}\s?(?:\s(?:at)\s|\(at\)|\[at\]|\{at\})\s?[^\s(),;]{1,64}(?:\s(?:dot|\.)\s|\s?[[({](?:dot|\.)[\])}]\s?|\.)\p{L}{2,}/giu,
  new RegExp(
    `(?<![\\p{L}\\p{N}])[\\p{L}\\p{N}]+[\\s_-]{1,3}dot[\\s_-]{1,3}(?:${topLevel}|\\p{L}{2})(?!\\p{L})`,
    'giu',
  ),
  new RegExp(
    `(?<![\\p{L}\\p{N}-])[\\p{L}\\p{N}-]+(?:\\s+\\.\\s?|,|\\s?[·•∙⋅・]\\s?)(?:${topLevel})(?![\\p{L}\\p{N}])`,
    'giu',
  ),
  // A host of the own network, with its port.
  /(?<![\p{L}\p{N}.-])\p{L}[\p{L}\p{N}-]*:\d{2,5}\/[^\s<>"'`]*/gu,
  // Who is spoken to, on a platform where a name is an address.
  /(?<![\p{L}\p{N}._%+@-])@[\p{L}\p{N}_][\p{L}\p{N}_.-]+/gu,
  /(?<![\p{L}\p{N}:])(?=[\da-f:]{0,40}?::|(?:[\da-f]{1,4}:){3})(?:[\da-f]{1,4})?(?:::?[\da-f]{1,4}){2,8}(?::{2})?(?![\p{L}\p{N}:])/giu,
]
const code = /(?<![\p{L}\p{N}_-])(?=[\p{L}\p{N}_-]*\p{L})(?=[\p{L}\p{N}_-]*\p{N})[\p{L}\p{N}_-]{6,}/gu
/** "1-hour", "30-minute", "3rd": a count and its unit. */
const counted = /^\d{1,3}[-_]?\p{L}+(?:-\p{L}+)*$/u
const long = /(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{24,}/g
/** Signs alone are a line. */
const line = /^[+/=_-]+$/
/** In groups, each with a digit or of four capitals, and at least one with a letter. */
const grouped =
  /(?<![\p{L}\p{N}])(?=\p{L}{0,7}\p{N})[\p{L}\p{N}]{2,8}(?:[ -](?:[A-Z]{4}|(?=\p{L}{0,7}\p{N})[\p{L}\p{N}]{1,8})){2,}(?![\p{L}\p{N}])/gu
/** One sign after the other, always with the same between them. */
const spaced =
  /(?<![\p{L}\p{N}])(?:\p{N}([^\p{L}\p{N}]{1,3})\p{N}(?:\1\p{N}){3,}|[\p{L}\p{N}]([\s._*|·-])[\p{L}\p{N}](?:\2[\p{L}\p{N}]){2,})(?![\p{L}\p{N}])/gu
const ideographicDigits = /[〇零一二三四五六七八九壹贰叁肆伍陆柒捌玖]{5,}/gu
const digits = /\+?\p{Nd}(?:[\s.,'’_:|/*–—-]?\p{Nd})*/gu
/** The names of five digits and more, one after the other. */
const digitWord =
  'zero|oh|one|two|three|four|five|six|seven|eight|nine|null|eins?|zwei|zwo|drei|vier|fünf|sechs|sieben|acht|neun|' +
  'zéro|une?|deux|trois|quatre|cinq|sept|huit|neuf|cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve'
const numberWord = `${digitWord}|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand`
const spelled = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${numberWord})(?:[\\s,.;/–—-]{1,3}(?:${numberWord})){4,}(?![\\p{L}\\p{N}])`,
  'giu',
)
/** Endings of names of files, with which no address ends. */
export const fileEnding =
  'docx?|xlsx?|pptx?|pdf|txt|csv|png|jpe?g|gif|svg|json|ya?ml|xml|html?|log|ts|js|tsx|jsx|css|odt|ods'
const fileName = new RegExp(`^[\\p{L}\\p{N}_.-]+\\.(?:${fileEnding})$`, 'iu')

const longNumber = 5

/** Most texts hold nothing that could be any of them. */
const plain = /^[\t\n\r\x20-\x7e]*$/
const mayCarry = /[@/\\\d[({&%]|[.:,]\S|\s\.|dot|[A-Za-z+=_-]{24}|(?<!\w)\w[\s._*|-]\w[\s._*|-]\w(?!\w)/i

/** Several in a row are no mark of a text. Flags of regions are written with some. */
const hiddenRun = /[\p{Cf}\p{Default_Ignorable_Code_Point}]{4,}/u
const regionFlags = /\u{1f3f4}[\u{e0030}-\u{e007a}]{3,6}\u{e007f}/gu

/** Each of them once, as it is written. `broken`: one of them is interrupted by what nobody sees, or is all of it. */
export function carriedBy(text: string): { found: string[]; broken: boolean } {
  if (plain.test(text) && !mayCarry.test(text) && text.search(spelled) < 0)
    return { found: [], broken: false }
  const shown = text.normalize('NFKC').replace(otherStops, '.').replace(regionFlags, '')
  const visible = hasHidden(shown)
    ? shown.replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]|\u20e3/gu, '')
    : shown
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
  const takeLinks = (): void => {
    for (const pattern of patterns) take(pattern, token => !fileName.test(token))
  }
  takeLinks()
  const read = rest.replace(escaped, toSign)
  if (read !== rest) {
    rest = read
    takeLinks()
  }
  take(long, token => !line.test(token))
  take(code, token => !counted.test(token))
  take(grouped, isGroupedCode)
  take(digits, isLong)
  take(spaced, token => !/^(?:\p{L}\.)+\p{L}$/u.test(token))
  take(spelled, () => true)
  take(ideographicDigits, () => true)
  const list = [...found]
  const isBroken = visible !== shown && (hiddenRun.test(shown) || list.some(token => !shown.includes(token)))
  return { found: list, broken: isBroken }
}

/** A dot or an at as pages and addresses write them. */
const escaped = /%(?:2e|40|e3%80%82)|&#0*(?:46|64);|&#x0*(?:2e|40);|&(?:period|commat);/gi

function toSign(sign: string): string {
  return /40|64|commat/i.test(sign) ? '@' : '.'
}

function isGroupedCode(token: string): boolean {
  const groups = token.split(/[ -]/)
  return /\p{L}/u.test(token) && !groups.every(group => counted.test(group))
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
  return whole.replace(/\P{Nd}/gu, '').length >= longNumber
}
