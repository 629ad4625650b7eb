// Compares a request with what a step expects. It returns the first difference as a sentence; the model throws.

import type { ModelRequest } from '../../engine/ports/index.ts'
import { joinText } from '../../language/content.ts'
import { wordsOf } from '../../language/errors.ts'
import type { Entry, ToolEntry, UserEntry } from '../../language/history.ts'
import type { Expectation, ExpectedResult, Pattern, ScriptStep } from './script.ts'

export async function findMismatch(
  expect: NonNullable<ScriptStep['expect']>,
  request: ModelRequest,
): Promise<string | undefined> {
  if (typeof expect !== 'function') return firstDifference(expect, request)
  try {
    const words = await expect(request)
    if (words === false) return 'its check to hold, but it gave false'
    return typeof words === 'string' ? words : undefined
  } catch (error) {
    return wordsOf(error)
  }
}

function firstDifference(expect: Expectation, request: ModelRequest): string | undefined {
  return (
    (expect.lastUser === undefined ? undefined : userDifference(expect.lastUser, request.history)) ??
    (expect.tools === undefined ? undefined : toolDifference(expect.tools, request)) ??
    (expect.results === undefined ? undefined : resultDifference(expect.results, request.history))
  )
}

function userDifference(pattern: Pattern, history: readonly Entry[]): string | undefined {
  const last = history.findLast((entry): entry is UserEntry => entry.role === 'user')
  const said = last === undefined ? undefined : joinText(last.parts)
  if (said !== undefined && matchesExpected(pattern, said)) return undefined
  const found = said === undefined ? 'there is none' : `it is ${quotedText(said)}`
  return `the last user message to match ${patternText(pattern)}, but ${found}`
}

function toolDifference(names: readonly string[], request: ModelRequest): string | undefined {
  const wanted = names.toSorted().join(', ')
  const offered = request.tools
    .map(tool => tool.name)
    .sort()
    .join(', ')
  return wanted === offered
    ? undefined
    : `the tools [${wanted}] to be offered, but the request has [${offered}]`
}

function resultDifference(wanted: readonly ExpectedResult[], history: readonly Entry[]): string | undefined {
  const last = history.findLast((entry): entry is ToolEntry => entry.role === 'tool')
  const results = last?.results ?? []
  if (results.length !== wanted.length)
    return `${wanted.length} results in the last batch, but there are ${results.length}`
  for (const [at, want] of wanted.entries()) {
    const { name, outcome } = results[at]!
    const which = `result ${at + 1} of the last batch`
    if (want.name !== undefined && want.name !== name)
      return `${which} to be of ${want.name}, but it is of ${name}`
    if (want.kind !== undefined && want.kind !== outcome.kind)
      return `${which} to be ${want.kind}, but it is ${outcome.kind}`
    const text = joinText(outcome.parts)
    if (want.text !== undefined && !matchesExpected(want.text, text))
      return `${which} to match ${patternText(want.text)}, but it is ${quotedText(text)}`
  }
  return undefined
}

function matchesExpected(pattern: Pattern, text: string): boolean {
  if (typeof pattern === 'string') return text.includes(pattern)
  return text.search(pattern instanceof RegExp ? pattern : new RegExp(pattern.pattern, pattern.flags)) >= 0
}

function patternText(pattern: Pattern): string {
  if (typeof pattern === 'string') return JSON.stringify(pattern)
  return pattern instanceof RegExp ? String(pattern) : `/${pattern.pattern}/${pattern.flags ?? ''}`
}

function quotedText(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200).toWellFormed()}…` : text)
}
