// Says where a value without a warrant came from, for the person who decides: the call that read it, and the words around it.
import type { FlowFact } from '../../language/flow.ts'
import { printable } from '../../lib/text/index.ts'
import { fold } from './fold.ts'
import type { LogIndex, Source } from './log-index.ts'
import { resultText } from './read-outcome.ts'
import type { Found } from './warrants.ts'

/** How much of what was read is searched for a value, newest first: as it is written, and without case. */
const mostSearched = 1024 * 1024
const mostFolded = 16 * 1024
const shownLength = 120

export function toFact(found: Found, indexes: readonly LogIndex[], hide: (text: string) => string): FlowFact {
  const { path, value } = found.argument
  const shown = (text: string): string => printable(hide(text), shownLength)
  if ('warrant' in found) {
    const { origin, why, source } = found.warrant
    return { argument: path, value: shown(String(value)), warranted: true, origin, why, ...named(source) }
  }
  const { missing } = found
  const source = locate(missing.value, indexes)
  const words = missing.why === undefined ? '' : `, ${missing.why}`
  const fact: FlowFact = {
    argument: path,
    value: shown(missing.value),
    warranted: false,
    origin: source ? 'tool' : 'unknown',
    why: source
      ? `from \`${source.tool}\` (call ${source.number}), not from you${words}`
      : `not from you, nor from a trusted tool${words}`,
    ...named(source),
  }
  const around = source && wordsAround(resultText(source.outcome), missing.value)
  if (around) fact.around = printable(hide(around), shownLength * 2)
  return fact
}

function named(source: Source | undefined): Partial<FlowFact> {
  if (!source) return {}
  const { call, tool, number, uri } = source
  return { call, tool, number, ...(uri !== undefined && { uri }) }
}

/** The newest result in which the value stands. */
function locate(value: string, indexes: readonly LogIndex[]): Source | undefined {
  const folded = fold(value)
  if (folded === '') return undefined
  let [left, leftToFold] = [mostSearched, mostFolded]
  for (const { untrusted } of indexes)
    for (let at = untrusted.length - 1; at >= 0 && left > 0; at -= 1) {
      const source = untrusted[at] as Source
      const text = resultText(source.outcome)
      left -= text.length
      if (text.includes(value)) return source
      leftToFold -= text.length
      if (leftToFold > 0 && fold(text).includes(folded)) return source
    }
  return undefined
}

function wordsAround(text: string, value: string): string | undefined {
  const at = text.indexOf(value)
  if (at < 0) return undefined
  const from = Math.max(0, at - 40)
  const to = Math.min(text.length, at + value.length + 40)
  return `${from > 0 ? '…' : ''}${text.slice(from, to).replace(/\s+/g, ' ')}${to < text.length ? '…' : ''}`
}
