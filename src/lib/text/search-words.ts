// Words of texts as a search compares them: without case, accents and punctuation. Scripts without spaces are split into
// characters. Runs in a browser too.

/** Longer words are no words that anyone looks for, such as data in base64. */
const longestWord = 64
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu

/** Separated by one space. */
export function searchWords(text: string): string {
  return wordsOfText(text).join(' ')
}

/** Words that stand together. `open`: the last of them is the beginning of a word. */
export type SearchPhrase = { words: readonly string[]; open: boolean }

/** What someone looks for. A word that is quoted, or ends with a sign, is whole; others may go on. */
export function searchPhrases(query: string): SearchPhrase[] {
  return [...query.matchAll(/"([^"]*)"|\S+/g)].flatMap(([piece, quoted]) => {
    const words = wordsOfText(quoted ?? piece)
    return words.length > 0
      ? [{ words, open: quoted === undefined && /[\p{L}\p{N}\p{M}]$/u.test(piece) }]
      : []
  })
}

/** `words`: of `searchWords`. */
export function hasPhrases(words: string, phrases: readonly SearchPhrase[]): boolean {
  const padded = ` ${words} `
  return (
    phrases.length > 0 &&
    phrases.every(phrase => padded.includes(` ${phrase.words.join(' ')}${phrase.open ? '' : ' '}`))
  )
}

/** About `length` characters of a text around the first of the phrases, on one line. */
export function searchExcerpt(text: string, phrases: readonly SearchPhrase[], length: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  const at = Math.max(0, firstPlace(line, phrases) - Math.floor(length / 3))
  const start = at === 0 ? 0 : line.indexOf(' ', at) + 1 || at
  const piece = line.slice(start, start + length).toWellFormed()
  return `${start > 0 ? '… ' : ''}${piece}${start + length < line.length ? ' …' : ''}`
}

/** Where a phrase begins, as exactly as the lengths of folded characters allow. */
function firstPlace(line: string, phrases: readonly SearchPhrase[]): number {
  const folded = fold(line)
  const places = phrases.map(phrase => folded.search(phrasePattern(phrase))).filter(place => place >= 0)
  return places.length > 0 ? Math.min(...places) : 0
}

function phrasePattern({ words }: SearchPhrase): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])${words.join('[^\\p{L}\\p{N}]*')}`, 'u')
}

function wordsOfText(text: string): string[] {
  return fold(text)
    .replace(unspaced, ' $& ')
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '' && word.length <= longestWord)
}

function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
}
