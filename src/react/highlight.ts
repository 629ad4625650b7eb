// The words of code by kind, line by line, with sugar-high. It is loaded when the first code is shown; code.tsx does that.
import { parse } from 'sugar-high/core'
import { lang, languages } from 'sugar-high/lang'
import type { CodeLine } from './code.tsx'

/** Undefined: the language is not known. */
export function highlightLines(text: string, language: string): CodeLine[] | undefined {
  const name = lang(language.toLowerCase())
  if (name === undefined || name === 'plaintext') return undefined
  const config = languages.find(({ id }) => id === name)?.config
  return parse(text, config).lines.map(({ tokens }) =>
    tokens.flatMap(({ type, value }) => (value === '' || type === 'break' ? [] : [{ type, value }])),
  )
}
