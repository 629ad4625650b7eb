// Checks a value against a declared type: fields that are missing, of another type, or that the type does not have.
import { type Member, resolve, type Type } from './declarations.ts'

export type Problem = { path: string; what: string }

export function problemsOf(value: unknown, type: Type, path: string): Problem[] {
  switch (type.kind) {
    case 'name':
      return problemsOf(value, resolve(type.path, type.scope), path)
    case 'primitive':
      return isPrimitive(value, type.name) ? [] : [wrong(path, value, type.name)]
    case 'literal':
      return value === type.value ? [] : [wrong(path, value, JSON.stringify(type.value))]
    case 'array':
      if (!Array.isArray(value)) return [wrong(path, value, 'a list')]
      return value.flatMap((each, at) => problemsOf(each, type.of, `${path}[${at}]`))
    case 'record':
      if (!isObject(value)) return [wrong(path, value, 'an object')]
      return Object.entries(value).flatMap(([key, each]) => problemsOf(each, type.of, `${path}.${key}`))
    case 'union':
      return ofUnion(value, type.of, path)
    case 'all':
    case 'object':
      return ofObject(value, type, path)
  }
}

function ofObject(value: unknown, type: Type, path: string): Problem[] {
  const shape = shapeOf(type)
  // `string & {}` and the like: a text that has known values.
  if (!shape) return type.kind === 'all' ? problemsOf(value, type.of[0]!, path) : []
  if (!isObject(value)) return [wrong(path, value, 'an object')]
  const problems: Problem[] = []
  for (const { name, optional, type: member } of shape.members.values()) {
    const given = value[name]
    if (given !== undefined) problems.push(...problemsOf(given, member, `${path}.${name}`))
    else if (!optional) problems.push({ path: `${path}.${name}`, what: 'is missing' })
  }
  for (const name of Object.keys(value)) {
    if (shape.members.has(name)) continue
    if (!shape.rest) problems.push({ path: `${path}.${name}`, what: 'is not in the type' })
    else problems.push(...problemsOf(value[name], shape.rest, `${path}.${name}`))
  }
  return problems
}

type Shape = { members: Map<string, Member>; rest?: Type }

/** All members of an object type, inherited ones included. Undefined if it is none. */
function shapeOf(type: Type): Shape | undefined {
  if (type.kind === 'name') return shapeOf(resolve(type.path, type.scope))
  if (type.kind === 'object')
    return {
      members: new Map(type.members.map(member => [member.name, member])),
      ...(type.rest && { rest: type.rest }),
    }
  if (type.kind !== 'all') return undefined
  const members = new Map<string, Member>()
  let rest: Type | undefined
  for (const part of type.of) {
    const shape = shapeOf(part)
    if (!shape) return undefined
    for (const [name, member] of shape.members) members.set(name, member)
    rest = shape.rest ?? rest
  }
  return { members, ...(rest && { rest }) }
}

/** The problems with the member that fits best: one with the same `type` before any other, then the one with the fewest. */
function ofUnion(value: unknown, of: readonly Type[], path: string): Problem[] {
  let best: Problem[] | undefined
  let bestRank = Number.POSITIVE_INFINITY
  for (const each of of) {
    const problems = problemsOf(value, each, path)
    if (problems.length === 0) return []
    const isOther = problems.some(
      ({ path: at }) => at === path || at === `${path}.type` || at === `${path}.role`,
    )
    const rank = problems.length + (isOther ? 1000 : 0)
    if (rank < bestRank) [best, bestRank] = [problems, rank]
  }
  return best ?? []
}

function isPrimitive(value: unknown, name: string): boolean {
  if (name === 'unknown') return true
  if (name === 'null') return value === null
  if (name === 'number') return typeof value === 'number' && Number.isFinite(value)
  return typeof value === name
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function wrong(path: string, value: unknown, wanted: string): Problem {
  return { path, what: `is ${JSON.stringify(value)?.slice(0, 60)}, not ${wanted}` }
}
