// A store whose durable writes are timed. It passes everything else on.
import type { Store } from '../engine/ports/index.ts'

/** `wrote` is told the seconds that a write took, also if it failed. */
export function timedStore(store: Store, wrote: (seconds: number) => void): Store {
  const time = async <Result>(write: Promise<Result>): Promise<Result> => {
    const begun = performance.now()
    try {
      return await write
    } finally {
      wrote((performance.now() - begun) / 1000)
    }
  }
  const functions = new Map<string | symbol, unknown>([
    ['append', (...args: Parameters<Store['append']>) => time(store.append(...args))],
    ['create', (...args: Parameters<Store['create']>) => time(store.create(...args))],
  ])
  return new Proxy(store, {
    get(_, name) {
      const known = functions.get(name)
      if (known) return known
      const member: unknown = Reflect.get(store, name, store)
      if (typeof member !== 'function') return member
      // A store may be a class whose methods need it as their receiver.
      const bound: unknown = member.bind(store)
      functions.set(name, bound)
      return bound
    },
  })
}
