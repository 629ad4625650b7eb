// Schemas that are made when something is first held against them: few programs read every protocol and script, and zod is
// the largest thing that they would otherwise keep in memory.
import { createRequire } from 'node:module'
import type { z } from 'zod'

export type Zod = typeof z

export function lazySchemas<T extends object>(make: (zod: Zod) => T): () => T {
  let made: T | undefined
  return () => {
    if (!made) {
      // Zod's own door for `require`: the same code, loaded at once and now.
      const zod = createRequire(import.meta.url)('zod') as { z: Zod }
      made = make(zod.z)
    }
    return made
  }
}
