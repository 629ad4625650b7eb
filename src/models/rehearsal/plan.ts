// Which tools a message asks for, clause by clause. A clause chooses the tool that has most of its words; a clause that
// chooses none adds its values or its text to the call before it.
import type { ToolDeclaration } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { callText, givenArguments, listParameters, valueKinds } from './fill.ts'
import { valuesIn, wordStems } from './words.ts'

export type PlannedCall = { tool: ToolDeclaration; clause: string; text: string }
type Clause = { start: number; end: number }
type Draft = Clause & { tool: ToolDeclaration; given: JsonObject }

/** One word of a tool's name is enough; one word of its description is not. */
const ENOUGH = 2
const MOST_CALLS = 8
/** The rest of the message is one clause. */
const MOST_CLAUSES = 24
const NONE: ReadonlySet<string> = new Set()

/** `must`: at least one call, even if no tool fits. */
export function planCalls(message: string, tools: readonly ToolDeclaration[], must: boolean): PlannedCall[] {
  const profiles = tools.map(makeProfile)
  const drafts: Draft[] = []
  for (const clause of splitClauses(message)) {
    const text = message.slice(clause.start, clause.end)
    const tool = bestTool(text, profiles, ENOUGH)
    const before = drafts.at(-1)
    const isSame = tool === before?.tool && Object.keys(tool ? givenArguments(tool, text) : {}).length === 0
    if (tool !== undefined && !isSame) drafts.push({ ...clause, tool, given: {} })
    else if (before !== undefined) extend(drafts, before, clause, message)
  }
  const forced = must && drafts.length === 0 ? bestTool(message, profiles, 0) : undefined
  if (forced !== undefined) drafts.push({ tool: forced, start: 0, end: message.length, given: {} })
  const calls = drafts.slice(0, MOST_CALLS).map(({ tool, start, end, given }) => {
    const clause = message.slice(start, end)
    return { tool, clause, text: callText(tool, clause, given) }
  })
  return [...new Map(calls.map(call => [`${call.tool.name} ${call.text}`, call])).values()]
}

const JOINT = /\s*[.!?;]+(?=\s|$)\s*|\s*\n\s*|\s*,\s+(?:and\s+)?(?:then\s+)?|\s+(?:and\s+then|and|then)\s+/giu

/** The message cut at sentence ends, commas, "and" and "then", but never inside a value. */
function splitClauses(message: string): Clause[] {
  const values = valuesIn(message, NONE).filter(({ kind }) => kind !== 'name')
  const clauses: Clause[] = []
  let start = 0
  for (const { index, 0: joint } of [...message.matchAll(JOINT), { index: message.length, 0: '' }]) {
    const next = index + joint.length
    if (clauses.length >= MOST_CLAUSES && joint !== '') continue
    if (values.some(value => index < value.end && next > value.start)) continue
    if (index > start) clauses.push({ start, end: index })
    start = next
  }
  return clauses
}

/** "… in Paris, Oslo" is another call, "…, 3 days" one more argument; anything else is read as one clause with the former. */
function extend(drafts: Draft[], before: Draft, clause: Clause, message: string): void {
  const { tool } = before
  const old = { ...givenArguments(tool, message.slice(before.start, before.end)), ...before.given }
  const said = Object.entries(givenArguments(tool, message.slice(clause.start, clause.end)))
  const repeated = said.filter(([name]) => Object.hasOwn(old, name))
  const given = { ...old, ...Object.fromEntries(said) }
  if (said.length === 0 || repeated.some(([, value]) => Array.isArray(value))) before.end = clause.end
  else if (repeated.length > 0) drafts.push({ ...clause, tool, given })
  else before.given = given
}

// ---- the choice ------------------------------------------------------------------------------------------

type Profile = { tool: ToolDeclaration; own: string[]; other: string[]; takesSums: boolean }

function makeProfile(tool: ToolDeclaration): Profile {
  const { name, title = '', description, input } = tool
  const parameters = input.form === 'json' ? listParameters(input.schema, input.schema) : []
  const takesSums = parameters.some(each => valueKinds(each.name, each.schema).includes('sum'))
  return { tool, own: wordStems(`${name} ${title}`), other: wordStems(description), takesSums }
}

/** The first of those with the highest score, if that is at least `least`. */
function bestTool(text: string, profiles: readonly Profile[], least: number): ToolDeclaration | undefined {
  const words = new Set(wordStems(text))
  const hasSum = valuesIn(text, NONE).some(({ kind }) => kind === 'sum')
  const scores = profiles.map(({ own, other, takesSums }) => {
    let score = hasSum && takesSums ? 2 : 0
    for (const word of words) score += own.includes(word) ? 2 : other.includes(word) ? 1 : 0
    return score
  })
  const best = Math.max(...scores)
  return best >= least ? profiles[scores.indexOf(best)]?.tool : undefined
}
