// The tokens and the money of several answers together.
import type { Usage } from '../../language/events.ts'

export function addUsage(first: Usage, second: Usage): Usage {
  const total: Usage = { input: first.input + second.input, output: first.output + second.output }
  for (const name of ['cacheRead', 'cacheWrite', 'thinking', 'cost'] as const) {
    const count = (first[name] ?? 0) + (second[name] ?? 0)
    if (count > 0) total[name] = count
  }
  return total
}
