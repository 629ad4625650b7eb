// A text that a simple regular expression describes: literals, classes, groups and counts, as tool schemas use
// them for codes and ids. It reads no look-arounds and no back-references: for these it gives undefined.

type Reader = { pattern: string; at: number }

class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

/** The shortest text that the pattern plainly describes; whoever asks still checks that it fits. */
export function sampleOf(pattern: string): string | undefined {
  if (pattern === '' || pattern.length > 200) return undefined
  const reader: Reader = { pattern, at: 0 }
  try {
    const text = alternatives(reader)
    return reader.at < pattern.length || text.length > 1_000 ? undefined : text
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

function alternatives(reader: Reader): string {
  const first = sequence(reader)
  while (reader.pattern[reader.at] === '|') {
    reader.at++
    sequence(reader)
  }
  return first
}

function sequence(reader: Reader): string {
  let text = ''
  for (let next = reader.pattern[reader.at]; next !== undefined && next !== '|' && next !== ')'; ) {
    const unit = atom(reader)
    text += unit.repeat(countOf(reader))
    next = reader.pattern[reader.at]
  }
  return text
}

function atom(reader: Reader): string {
  const char = reader.pattern[reader.at++]!
  if (char === '^' || char === '$') return ''
  if (char === '.') return 'a'
  if (char === '\\') return escaped(reader)
  if (char === '[') return classOf(reader)
  if (char !== '(') return char
  if (reader.pattern[reader.at] === '?') {
    if (!reader.pattern.startsWith('?:', reader.at)) throw new Unreadable()
    reader.at += 2
  }
  const inner = alternatives(reader)
  if (reader.pattern[reader.at++] !== ')') throw new Unreadable()
  return inner
}

function escaped(reader: Reader): string {
  const char = reader.pattern[reader.at++]
  if (char === undefined) throw new Unreadable()
  const known: Readonly<Record<string, string>> = {
    d: '1',
    w: 'a',
    s: ' ',
    D: 'a',
    S: 'a',
    W: '-',
    b: '',
    n: '\n',
    t: '\t',
  }
  if (Object.hasOwn(known, char)) return known[char]!
  if (/[\p{L}\d]/u.test(char)) throw new Unreadable()
  return char
}

function classOf(reader: Reader): string {
  const end = reader.pattern.indexOf(']', reader.at + 1)
  if (end < 0 || reader.pattern[reader.at] === '^') throw new Unreadable()
  const inside: Reader = { pattern: reader.pattern.slice(reader.at, end), at: 0 }
  reader.at = end + 1
  const first = inside.pattern[inside.at++]!
  return first === '\\' ? escaped(inside) : first
}

function countOf(reader: Reader): number {
  const match = /^(?:[*?]|\+|\{(\d{1,3})(?:,\d*)?\})\??/u.exec(reader.pattern.slice(reader.at))
  if (match === null) return 1
  reader.at += match[0].length
  if (match[1] !== undefined) return Number(match[1])
  return match[0].startsWith('+') ? 1 : 0
}
