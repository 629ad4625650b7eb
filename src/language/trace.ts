// The W3C trace context of a request: which trace it belongs to, and which span it came from. It crosses processes as two
// headers, or as two members of `_meta` in MCP and ACP.

export type TraceContext = { readonly traceparent: string; readonly tracestate?: string }

const parent = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/

/** Undefined: there is none, or it is malformed and has to be ignored. */
export function readTrace(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string' || !parent.test(traceparent)) return undefined
  const isState = typeof tracestate === 'string' && /^[\x20-\x7e]{1,512}$/.test(tracestate)
  return isState ? { traceparent, tracestate } : { traceparent }
}

/** Headers that name no trace of their own get this one. */
export function withTrace(headers: HeadersInit | undefined, trace: TraceContext | undefined): Headers {
  const all = new Headers(headers)
  if (!trace || all.has('traceparent')) return all
  for (const [name, value] of Object.entries(trace)) all.set(name, value)
  return all
}

/** The same from `_meta` of a message. */
export function traceInMeta(meta: unknown): TraceContext | undefined {
  if (typeof meta !== 'object' || meta === null) return undefined
  const members = meta as Readonly<Record<string, unknown>> // any object may be read so
  return readTrace(members['traceparent'], members['tracestate'])
}
