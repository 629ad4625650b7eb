// Logs warnings and retries of model requests for operators. A warning that a request was adapted for its vendor goes
// to the caller with every answer. It is logged once, since it is the same for every request.
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

/** `asked`: the session or agent, and the model. */
export function logRetry(
  { log }: Pick<EnginePorts, 'log'>,
  { code, message }: Extract<ModelDelta, { type: 'retry' }>,
  asked: Readonly<Record<string, string>>,
): void {
  log('warn', 'A request to a model failed and is made again.', { ...asked, code, error: message })
}
