// The error of a request that was sent and got no whole answer: nobody knows whether it took effect. Everything that sends a
// request for a call throws it (HTTP, MCP, connections that run tools), and the engine asks for it in one place.

export class Unanswered extends Error {
  override readonly name = 'Unanswered'
}

const unsentCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** True: the network failed before anything of the request had left. `fetch` gives the reason as the cause of its error. */
export function wasNeverSent(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  return 'code' in error ? unsentCodes.has(error.code) : wasNeverSent(error.cause)
}
