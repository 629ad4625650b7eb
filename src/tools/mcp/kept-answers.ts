// A cache of a server's answers. A server of 2026-07-28 says how long an answer is valid (`ttlMs`). A cache belongs to
// one connection with one login, so a private answer (`cacheScope: "private"`) reaches no other login.
import { roughSize } from '../../lib/json/plain.ts'

const mostBytes = 4 * 1024 * 1024
const longestMs = 24 * 60 * 60_000

export class KeptAnswers {
  readonly #now: () => number
  readonly #kept = new Map<string, { value: unknown; until: number; bytes: number }>()
  #bytes = 0
  /** How often the cache was cleared. An answer to a request from before the last clearing is not kept. */
  #cleared = 0

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** The value that is kept under the key, or the value of `ask`. A key always stands for the same kind of value. */
  async get<Value>(key: string, ask: () => Promise<{ value: Value; ttlMs: number }>): Promise<Value> {
    const kept = this.#kept.get(key)
    if (kept && this.#now() < kept.until) return kept.value as Value
    this.#drop(key)
    const asked = this.#now()
    const cleared = this.#cleared
    const { value, ttlMs } = await ask()
    if (ttlMs > 0 && cleared === this.#cleared) this.#keep(key, value, asked + ttlMs)
    return value
  }

  clear(): void {
    this.#kept.clear()
    this.#bytes = 0
    this.#cleared += 1
  }

  #keep(key: string, value: unknown, until: number): void {
    this.#drop(key)
    const bytes = roughSize(value) + key.length
    if (bytes > mostBytes) return
    this.#kept.set(key, { value, until, bytes })
    this.#bytes += bytes
    for (const oldest of this.#kept.keys()) if (this.#bytes > mostBytes) this.#drop(oldest)
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0
    this.#kept.delete(key)
  }
}

/** 0: it holds for this moment only, or the server does not say. */
export function readTtl(answer: Readonly<Record<string, unknown>>): number {
  const { ttlMs } = answer
  return typeof ttlMs === 'number' && ttlMs > 0 ? Math.min(ttlMs, longestMs) : 0
}
