// Zod schemas that are built at their first use, together with loading zod itself. Zod is the largest module that a
// program would otherwise load, and few programs use every protocol that has such schemas.
import { createRequire } from 'node:module'
import type { ZodType, z } from 'zod'

export type Zod = typeof z

export function lazySchemas<T extends object>(make: (zod: Zod) => T): () => T {
  let made: T | undefined
  return () => {
    if (!made) {
      // `require` loads it synchronously. It is untyped; this is the shape that zod declares.
      const zod = createRequire(import.meta.url)('zod') as { z: Zod }
      made = make(zod.z)
    }
    return made
  }
}

/** Many clients write `null` for a field that they leave out. */
export const optionalField = <T extends ZodType>(schema: T) =>
  schema.nullish().transform(value => value ?? undefined)
