// Asks a tool what its call would do, before a person is asked to approve the call. The preview is optional: if it
// fails or is late, the person is asked without it.
import type { Report } from '../../language/report.ts'
import type { Json } from '../../lib/json/index.ts'
import type { Offered } from '../rules/offer.ts'
import type { CallState } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'

const patienceMs = 10_000

export function wantsPreview(offered: Offered): boolean {
  return offered.side === 'server' && offered.tool.preview !== undefined
}

/** Never rejects. */
export async function makePreview(
  session: CallSession,
  call: CallState,
  offered: Offered,
  input: Json,
): Promise<Report | undefined> {
  if (offered.side !== 'server' || !offered.tool.preview) return undefined
  const { tool } = offered
  const { ports, state, agent } = session
  const late = new AbortController()
  const { promise: tooLate, resolve } = Promise.withResolvers<undefined>()
  const stopClock = ports.world.timer(patienceMs, () => {
    late.abort(new Error(`The preview took more than ${patienceMs} ms.`))
    resolve(undefined)
  })
  try {
    const context = {
      session: session.id,
      owner: state.owner,
      callId: call.part.id,
      signal: late.signal,
    }
    const report = await Promise.race([tool.preview?.(input, context), tooLate])
    return report && agent.gate.report(report)
  } catch {
    ports.log('debug', 'A preview failed.', { session: session.id, callId: call.part.id, tool: tool.name })
    return undefined
  } finally {
    stopClock()
  }
}
