// The references of a schema, as inspectSchema has collected them: each must lead to something in this schema, because
// nothing is fetched. One that leads nowhere would make every value invalid, so it is found when the schema is declared.

import type { JsonObject } from '../json/index.ts'
import { quote } from '../text/index.ts'
import { SchemaError } from './keywords.ts'
import { findTarget } from './pointers.ts'

/** `base`: the identifier of the resource that it stands in. `isUnknown`: it stands in an unknown keyword. */
type Reference = { ref: string; path: string; base: string; isUnknown: boolean; isDynamic: boolean }

export type References = {
  /** The identifiers of the resources, without fragments. */
  ids: string[]
  anchors: string[]
  /** The anchors of dynamic references; the name is empty for `$recursiveAnchor`. */
  dynamic: { name: string; base: string }[]
  refs: Reference[]
}

/** Throws SchemaError. */
export function checkReferences(root: JsonObject, references: References): void {
  const known = new Set(references.ids)
  for (const reference of references.refs) {
    const { ref, path, base } = reference
    if (reference.isDynamic) checkDynamic(reference, references)
    if (ref.startsWith('#') || ref === '') checkFragment(root, reference, references)
    else if (!known.has(withoutFragment(resolveUri(ref, base)))) {
      throw new SchemaError(
        path,
        `The reference ${quote(ref)} points outside this schema, and nothing is fetched. Put its target under $defs.`,
      )
    }
  }
}

/** In a schema of several resources only the compiler can resolve it. */
function checkFragment(root: JsonObject, reference: Reference, { ids, anchors }: References): void {
  const { ref, path } = reference
  const ownIds = typeof (root['$id'] ?? root['id']) === 'string' ? 1 : 0
  if (reference.isUnknown || ids.length > ownIds || ref === '#' || ref === '') return
  if (ref.startsWith('#/') ? findTarget(root, ref) !== undefined : anchors.includes(ref.slice(1))) return
  throw new SchemaError(path, `The reference ${quote(ref)} leads nowhere. Put its target under $defs.`)
}

/** A dynamic reference is followed as a plain one, which is right while only one resource has its anchor. */
function checkDynamic({ ref, path }: Reference, { dynamic }: References): void {
  const name = ref.slice(ref.indexOf('#') + 1)
  const bases = new Set(dynamic.filter(anchor => anchor.name === name).map(({ base }) => base))
  if (bases.size < 2) return
  throw new SchemaError(
    path,
    `The dynamic reference ${quote(ref)} has an anchor in several resources, so that its target changes while a value is checked. Use $ref.`,
  )
}

const NOWHERE = 'schema:/'

export function resolveUri(uri: string, base: string): string {
  const url = URL.parse(uri, base === '' ? NOWHERE : base)
  return url === null ? uri : url.href
}

export function withoutFragment(uri: string): string {
  const hash = uri.indexOf('#')
  return hash < 0 ? uri : uri.slice(0, hash)
}
