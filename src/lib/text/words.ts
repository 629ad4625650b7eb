// Text as the terms that a search compares: words without case, accents and endings. Names are cut at capitals, digits and
// punctuation, so that `createPullRequest` and `create_pull_request` have the same terms. Scripts that are written without
// spaces become pairs of characters.

/** Words of questions that do not help a search. */
const commonWords: ReadonlySet<string> = new Set(
  (
    'a an and any are as at be but by can do does for from get give has have how i in into is it its let me my need of on or ' +
    'our please so some that the their them then there these this those to us use used uses using want was we what when ' +
    'where which who will with would you your tool tools'
  ).split(' '),
)

const joinedScript = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+/u
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+|\p{Lu}{2,}(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{Lu}+|\p{N}+/gu

/** The same for ASCII text, which is the usual case: several times as fast. */
const asciiPattern = /[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+/g
const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** `most`: how many terms at most are read of the text. */
export function readTerms(text: string, most = Number.POSITIVE_INFINITY): string[] {
  const ascii = isAscii(text)
  const words = (ascii ? text.match(asciiPattern) : text.normalize('NFKC').match(wordPattern)) ?? []
  const terms: string[] = []
  for (const word of words) {
    if (terms.length >= most) break
    if (ascii) addTerm(terms, word.toLowerCase())
    else if (joinedScript.test(word)) terms.push(...letterPairs(word))
    else addTerm(terms, plainWord(word))
  }
  return terms
}

function addTerm(terms: string[], plain: string): void {
  if (!commonWords.has(plain)) terms.push(stem(plain))
}

function plainWord(word: string): string {
  return word
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
}

function letterPairs(word: string): string[] {
  const characters = Array.from(word)
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, index) => characters[index]! + character)
}

/** Endings of English words, so that `creating`, `created` and `creates` are `create`. Wrong stems are wrong on both sides. */
function stem(word: string): string {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word
  let root = word
  if (root.endsWith('s')) {
    if (/[^s]ies$/.test(root) && root.length > 4) root = `${root.slice(0, -3)}y`
    else if (/(?:ss|sh|ch|x|z)es$/.test(root)) root = root.slice(0, -2)
    else if (/[^su]s$/.test(root)) root = root.slice(0, -1)
  }
  const shorter = withoutEnding(root)
  return /[^aeiou]e$/.test(shorter) && shorter.length > 4 ? shorter.slice(0, -1) : shorter
}

const endings = ['ation', 'ition', 'ing', 'ion', 'ed', 'er', 'or', 'ment']

function withoutEnding(word: string): string {
  for (const ending of endings) {
    if (!word.endsWith(ending) || word.length - ending.length < 4) continue
    const root = word.slice(0, -ending.length)
    // A doubled consonant belongs to the ending: `running`, `planned`.
    return /([bdfgmnprt])\1$/.test(root) ? root.slice(0, -1) : root
  }
  return word
}
