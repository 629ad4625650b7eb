// JSON Pointers into a schema: written for errors, and followed where a reference stays within its schema.

import type { Json, JsonObject } from '../json/index.ts'

export function pointer(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
}

/** The target of a reference within `root`. Undefined if it has none, or is an anchor or an address. */
export function findTarget(root: Json, ref: string): Json | undefined {
  if (ref === '#' || ref === '') return root
  if (!ref.startsWith('#/')) return undefined
  let here: Json | undefined = root
  for (const token of ref.slice(2).split('/')) {
    if (typeof here !== 'object' || here === null) return undefined
    const key = decodeToken(token)
    here = Object.hasOwn(here, key) ? (here as JsonObject)[key] : undefined // an array's index is a key too
  }
  return here
}

function decodeToken(token: string): string {
  let text = token
  try {
    text = decodeURIComponent(token)
  } catch {
    // A stray percent sign is part of the name.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}
