// What operators read of model requests in the log. Adaptations for a vendor are said to the caller in the answer, and here
// once each: they are the same for every request.
import type { EnginePorts, ModelDelta } from '../ports/index.ts'

const MOST_REMEMBERED = 1000
const said = new WeakMap<EnginePorts['log'], Set<string>>()

export function logWarnings(
  { log }: Pick<EnginePorts, 'log'>,
  model: string,
  warnings: readonly string[],
): void {
  const before = said.get(log) ?? new Set<string>()
  said.set(log, before)
  for (const warning of warnings) {
    const key = `${model} ${warning}`
    if (before.has(key) || before.size >= MOST_REMEMBERED) continue
    before.add(key)
    log('warn', 'A request was adapted for its model.', { model, warning })
  }
}

/** `asked`: who asked which model. */
export function logRetry(
  { log }: Pick<EnginePorts, 'log'>,
  { code, message }: Extract<ModelDelta, { type: 'retry' }>,
  asked: Readonly<Record<string, string>>,
): void {
  log('warn', 'A request to a model failed and is made again.', { ...asked, code, error: message })
}
