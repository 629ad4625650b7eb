// Schemas that are made when the first request needs them: few servers are spoken to in every protocol, and zod is the
// largest thing that the wires would otherwise keep in memory.
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
