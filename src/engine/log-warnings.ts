// What was adapted or left out for a vendor is said in the answer, to its caller. The operator reads it in the log, each
// thing once: it is the same for every request.
import type { EnginePorts, ModelAnswer } from './ports.ts'

const MOST_REMEMBERED = 1000
const said = new WeakMap<EnginePorts['log'], Set<string>>()

export function logWarnings(
  { log }: Pick<EnginePorts, 'log'>,
  model: string,
  { warnings = [] }: Pick<ModelAnswer, 'warnings'>,
): void {
  if (warnings.length === 0) return
  const before = said.get(log) ?? new Set<string>()
  said.set(log, before)
  for (const warning of warnings) {
    const key = `${model} ${warning}`
    if (before.has(key) || before.size >= MOST_REMEMBERED) continue
    before.add(key)
    log('warn', 'A request was adapted for its model.', { model, warning })
  }
}
