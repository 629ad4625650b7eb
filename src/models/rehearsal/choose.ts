// Which tools a message asks for. Words of a clause are weighed against the words of each tool, rare words more
// than common ones; a clause that chooses nothing belongs to the clause before it. No arguments are made here,
// but the plan asks the filler whether a clause's facts found a place.
import type { ToolDeclaration } from '../../language/tools.ts'
import { isJsonObject } from '../../lib/json.ts'
import { argumentsFor } from './arguments.ts'
import { type Clause, clausesOf, isBare, substituted } from './clauses.ts'
import { type Fact, type FactKind, findFacts } from './facts.ts'
import { wanted } from './scalars.ts'
import { flat, propertiesOf, textAt } from './schemas.ts'
import { sourceOf } from './slots.ts'
import { stemsIn } from './words.ts'

export type Planned = { tool: ToolDeclaration; clause: string; text: string }

/** Below this a clause chooses nothing: one word of a tool's name is enough, one of its description is not. */
const ENOUGH = 2
const MAX_CALLS = 8

// ---- what a tool answers to ------------------------------------------------------------------------------

type Profile = {
  weights: ReadonlyMap<string, number>
  kinds: ReadonlySet<FactKind>
  /** Stems of name and title. */
  own: ReadonlySet<string>
  /** Stems of parameters and of their options. */
  terms: ReadonlySet<string>
}

const profiles = new WeakMap<ToolDeclaration, Profile>()

function profileOf(tool: ToolDeclaration): Profile {
  let profile = profiles.get(tool)
  if (profile === undefined) {
    profile = newProfile(tool)
    profiles.set(tool, profile)
  }
  return profile
}

const RECKONS = /^(?:calcul|arithmet|math|comput)/u

function newProfile(tool: ToolDeclaration): Profile {
  const weights = new Map<string, number>()
  const add = (text: string, weight: number) => {
    for (const stem of stemsIn(text)) weights.set(stem, Math.max(weight, weights.get(stem) ?? 0))
  }
  const own = new Set(stemsIn(`${tool.name} ${tool.title ?? ''}`))
  const terms = new Set<string>()
  const kinds = new Set<FactKind>()
  add(tool.description, 1)
  if (tool.input.form === 'json') {
    const root = tool.input.schema
    for (const [name, given] of propertiesOf(flat(root, root))) {
      const schema = flat(given, root)
      const item = isJsonObject(schema.items) ? flat(schema.items, root) : schema
      const options = Array.isArray(item.enum) ? item.enum.filter(one => typeof one === 'string') : []
      const words = `${name} ${textAt(schema, 'title')} ${options.join(' ')}`
      add(words, 1)
      for (const stem of stemsIn(words)) terms.add(stem)
      for (const kind of wanted({ name, schema: item, root, required: false, depth: 1 })) kinds.add(kind)
    }
  }
  add(`${tool.name} ${tool.title ?? ''}`, 2)
  if ([...weights.keys()].some(stem => RECKONS.test(stem))) kinds.add('math')
  return { weights, kinds, own, terms }
}

const BONUS: Partial<Record<FactKind, number>> = { email: 1, url: 1, path: 1, math: 2 }

export type Chooser = {
  /** Words that name tools: at the start of a sentence they are no names of places or people. */
  vocabulary: ReadonlySet<string>
  best(text: string, facts: readonly Fact[]): ToolDeclaration | undefined
  /** The best there is, however poor. */
  any(text: string, facts: readonly Fact[]): ToolDeclaration | undefined
}

export function chooserOf(tools: readonly ToolDeclaration[]): Chooser {
  const known = tools.map(tool => ({ tool, profile: profileOf(tool) }))
  const counts = new Map<string, number>()
  for (const { profile } of known)
    for (const stem of profile.weights.keys()) counts.set(stem, (counts.get(stem) ?? 0) + 1)
  const rarity = (stem: string) => Math.log(1 + (tools.length + 1) / ((counts.get(stem) ?? 0) + 0.5))

  const top = (text: string, facts: readonly Fact[]) => {
    const heard = new Set(stemsIn(text))
    const kinds = new Set(facts.map(fact => fact.kind))
    let first: { tool: ToolDeclaration; score: number; strength: number } | undefined
    for (const { tool, profile } of known) {
      let score = 0
      let strength = 0
      for (const stem of heard) {
        const weight = profile.weights.get(stem) ?? 0
        strength += weight
        score += weight * rarity(stem)
      }
      for (const kind of kinds) {
        const bonus = profile.kinds.has(kind) ? (BONUS[kind] ?? 0) : 0
        strength += bonus
        score += bonus
      }
      if (first === undefined || score > first.score) first = { tool, score, strength }
    }
    return first
  }
  return {
    vocabulary: new Set(known.flatMap(({ profile }) => [...profile.own, ...profile.terms])),
    best: (text, facts) => {
      const first = top(text, facts)
      return first !== undefined && first.strength >= ENOUGH ? first.tool : undefined
    },
    any: (text, facts) => top(text, facts)?.tool,
  }
}

// ---- the plan --------------------------------------------------------------------------------------------

type Group = Clause & { tool: ToolDeclaration; free: string }

/** The calls that a message asks for, in its order. `must`: at least one, even if none fits. */
export function planFor(
  message: string,
  tools: readonly ToolDeclaration[],
  now: number,
  must: boolean,
): Planned[] {
  if (tools.length === 0) return []
  const chooser = chooserOf(tools)
  const read = (text: string) => findFacts(text, { now, vocabulary: chooser.vocabulary })
  const clauses = clausesOf(message, read)
  const groups = grouped(clauses, chooser, read, now)
  const whole = must && groups.length === 0 ? chooser.any(message, read(message)) : undefined
  if (whole !== undefined) groups.push({ text: message, free: message, facts: read(message), tool: whole })
  const pool = clauses.flatMap(clause => clause.facts)
  const planned = groups.map(group => ({
    tool: group.tool,
    clause: group.text,
    text: argumentsFor(group.tool, sourceFor(group, pool, now)),
  }))
  const once = new Map(planned.map(call => [`${call.tool.name}\n${call.text}`, call]))
  return [...once.values()].slice(0, MAX_CALLS)
}

function grouped(
  clauses: readonly Clause[],
  chooser: Chooser,
  read: (text: string) => Fact[],
  now: number,
): Group[] {
  const groups: Group[] = []
  let lead = ''
  for (const clause of clauses) {
    const tool = chooser.best(clause.text, clause.facts)
    const before = groups.at(-1)
    if (tool !== undefined && (before?.tool !== tool || startsAnew(clause, tool))) {
      // What came before the first choice may still hold its arguments: "For notes.txt, count the words".
      const text = groups.length === 0 && lead !== '' ? `${lead}, ${clause.text}` : clause.text
      groups.push({ tool, text, free: clause.text, facts: text === clause.text ? clause.facts : read(text) })
    } else if (before === undefined) lead = lead === '' ? clause.text : `${lead}, ${clause.text}`
    else continued(before, clause, groups, read, now)
  }
  return groups
}

/** The same tool once more is meant when it is named again and given something of its own. */
function startsAnew(clause: Clause, tool: ToolDeclaration): boolean {
  const { own, terms } = profileOf(tool)
  const heard = stemsIn(clause.text)
  return heard.some(stem => own.has(stem)) && (clause.facts.length > 0 || heard.some(stem => terms.has(stem)))
}

/** "… in Paris and Oslo" asks twice, "… to ana and bob" once if the tool takes a list. */
function continued(
  before: Group,
  clause: Clause,
  groups: Group[],
  read: (text: string) => Fact[],
  now: number,
): void {
  const { terms } = profileOf(before.tool)
  const joint = clause.joint ?? ', '
  const text = `${before.text}${joint}${clause.text}`
  const sets = stemsIn(clause.text).some(stem => terms.has(stem))
  const joined: Group = {
    tool: before.tool,
    text,
    free: sets ? before.free : `${before.free}${joint}${clause.text}`,
    facts: read(text),
  }
  const another = isBare(clause, terms) ? substituted(before, clause) : undefined
  if (another !== undefined) {
    const source = sourceFor(joined, [], now)
    argumentsFor(joined.tool, source)
    const placed = [...source.used].some(fact => fact.start >= before.text.length)
    if (!placed) {
      groups.push({ tool: before.tool, text: another, free: another, facts: read(another) })
      return
    }
  }
  Object.assign(before, joined)
}

function sourceFor(group: Group, pool: readonly Fact[], now: number) {
  const others = pool.filter(
    fact => !group.facts.some(own => own.kind === fact.kind && own.text === fact.text),
  )
  const { own } = profileOf(group.tool)
  return sourceOf({
    text: group.text,
    free: group.free,
    facts: group.facts,
    pool: others,
    vocabulary: own,
    now,
  })
}

/** The whole message as the source for one tool, as a repair needs it. */
export function sourceOfMessage(message: string, tool: ToolDeclaration, now: number) {
  const { own } = profileOf(tool)
  const facts = findFacts(message, { now, vocabulary: own })
  return sourceOf({ text: message, free: message, facts, pool: [], vocabulary: own, now })
}
