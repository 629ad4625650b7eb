// A text in Markdown as blocks, with marked's lexer. Pure. While a text still arrives, only its end is read again, and what is not
// closed yet is closed for the moment, so that a word does not change its look with every piece that comes.
import { Lexer, type Token } from 'marked'

export type MarkdownBlock = { token: Token; from: number }

/** A longer text is shown as it is. */
export const longestMarkdown = 100_000

export function readBlocks(text: string): MarkdownBlock[] {
  let at = 0
  return new Lexer({ gfm: true }).lex(text).map(token => {
    const from = at
    at += token.raw.length
    return { token, from }
  })
}

/** What was read of a text that grows. */
export type GrowingBlocks = { text: string; blocks: MarkdownBlock[] }

/** A paragraph may still become a table or a heading, and a list may go on after a blank line. */
const unsettled = 3

/** The blocks of a text that begins with the one before. Settled blocks are the same objects. */
export function growBlocks(before: GrowingBlocks | undefined, text: string): GrowingBlocks {
  const settled =
    before && text.startsWith(before.text) && !before.text.includes('\r')
      ? before.blocks.slice(0, -unsettled)
      : []
  const from = settled.length === 0 ? 0 : (before?.blocks[settled.length]?.from ?? 0)
  const rest = readBlocks(text.slice(from)).map(block => ({ ...block, from: from + block.from }))
  return { text, blocks: [...settled, ...rest] }
}

/** The same text with its end closed: a fence, a table's head, emphasis, code, a link. */
export function closeEnd(text: string): string {
  // One or two marks at the end of code may begin the fence that closes it.
  if (isInFence(text)) return text.replace(/\n {0,3}(?:`{1,2}|~{1,2})$/, '\n')
  const lines = text.split('\n')
  // The last line may have just begun.
  const start = lines.slice(0, -1).findLastIndex(line => line.trim() === '') + 1
  const head = lines.slice(0, start).join('\n')
  const block = closeBlock(lines.slice(start))
  return start === 0 ? block : `${head}\n${block}`
}

/** A fence is closed by one of the same characters that is at least as long. */
function isInFence(text: string): boolean {
  let fence: string | undefined
  for (const [, marks = ''] of text.matchAll(/^ {0,3}(`{3,}|~{3,})/gm)) {
    if (fence === undefined) fence = marks
    else if (marks.startsWith(fence)) fence = undefined
  }
  return fence !== undefined
}

function closeBlock(lines: readonly string[]): string {
  const last = lines.at(-1) ?? ''
  // Alone, these become a heading or an empty item until the next character comes.
  const shown = /^\s*(?:[-=*+_#>]+|\d{1,9}[.)]?|\||`{1,2}|~{1,2})\s*$/.test(last) ? lines.slice(0, -1) : lines
  const [first = '', second] = shown
  if (first.trimStart().startsWith('|') && (second === undefined || /^[\s|:-]*$/.test(second)))
    return closeTable(first, lines.length > 1 ? second : undefined)
  return closeInline(shown.join('\n'))
}

function closeTable(head: string, marks: string | undefined): string {
  const columns = head
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|').length
  const written =
    marks
      ?.trim()
      .replace(/^\||\|$/g, '')
      .split('|') ?? []
  const row = Array.from({ length: columns }, (_, at) =>
    /-$|-:$/.test(written[at]?.trim() ?? '') ? written[at] : '---',
  )
  return `${closeInline(head)}\n|${row.join('|')}|`
}

/** Closes what is open at the end of a paragraph, and leaves out a link's address until it is whole. */
function closeInline(text: string): string {
  const ticks = text.match(/`+/g) ?? []
  if (ticks.length % 2 === 1)
    return text.endsWith(ticks.at(-1)!) ? text.slice(0, -ticks.at(-1)!.length) : text + ticks.at(-1)
  const plain = text.replace(/(`+)[\s\S]*?\1/g, code => ' '.repeat(code.length))
  const link = /!?\[[^\]]*(?:\](?:\([^)\s]*)?)?$/.exec(plain)
  if (link && !/(?:^|\n)\s*[-*+] $/.test(plain.slice(0, link.index))) {
    const words = text
      .slice(link.index)
      .replace(/^!?\[/, '')
      .replace(/\](?:\([^)\s]*)?$/, '')
    return closeEmphasis(text.slice(0, link.index) + words)
  }
  return closeEmphasis(text)
}

function closeEmphasis(text: string): string {
  // The second one may come, and would open something.
  if (/(?<!~)~$/.test(text)) return closeEmphasis(text.slice(0, -1))
  const plain = text.replace(/(`+)[\s\S]*?\1/g, code => ' '.repeat(code.length)).replace(/\\[*_~]/g, '  ')
  const open: string[] = []
  for (const { 0: mark, index } of plain.matchAll(/\*{1,3}|~~|(?<!\w)_{1,2}|_{1,2}(?!\w)/g)) {
    const next = plain[index + mark.length]
    const isClosing = open.at(-1) === mark && !/\s/.test(plain[index - 1] ?? ' ')
    if (isClosing) open.pop()
    // A mark before a space opens nothing.
    else if (next === undefined || !/\s/.test(next)) open.push(mark)
  }
  const last = open.at(-1)
  if (last === undefined) return text
  // Marks with nothing after them open nothing.
  if (text.endsWith(last)) return closeEmphasis(text.slice(0, -last.length))
  return text.trimEnd() + open.reverse().join('')
}
