// Spans of turns, model requests and calls, by OpenTelemetry's conventions for generative AI. A turn is one trace: it has an
// `invoke_agent` span for each stretch of work between two waits, and the later ones are below the first. Nothing of a turn
// that waits stays in memory. Words of users, models and tools are recorded only with `content`.
import {
  type Attributes,
  type Context,
  context,
  createTraceState,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type {
  Model,
  ModelAnswer,
  ModelDelta,
  ModelRequest,
  ObservedSession,
  Observer,
} from '../engine/ports/index.ts'
import type { Outcome } from '../language/calls.ts'
import { joinText } from '../language/content.ts'
import { TurnwireError } from '../language/errors.ts'
import type { Event, Usage } from '../language/events.ts'
import { readTrace, type TraceContext } from '../language/trace.ts'

type Open = { span: Span; context: Context }
export type Respond = (request: ModelRequest, watch: (delta: ModelDelta) => void) => Promise<ModelAnswer>
type OpenCallSpan = Open & { session: string; tool: string; agent: string; startedAt: number }

export class Spans implements Observer {
  readonly #tracer: Tracer
  readonly #content: boolean
  readonly #durations: ReturnType<Meter['createHistogram']>
  readonly #tokens: ReturnType<Meter['createHistogram']>
  /** By session: the stretch of its turn that is at work. */
  readonly #turns = new Map<string, Open>()
  /** By id: the calls that run. */
  readonly #calls = new Map<string, OpenCallSpan>()
  /** A turn that is about to be recorded. */
  #starting: (Open & { traceparent: string }) | undefined

  constructor(version: string, content: boolean) {
    this.#tracer = trace.getTracer('turnwire', version)
    const meter = metrics.getMeter('turnwire', version)
    this.#content = content
    this.#durations = meter.createHistogram('gen_ai.client.operation.duration', { unit: 's' })
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', { unit: '{token}' })
  }

  // ---- turns -----------------------------------------------------------------------------------------------

  startTurn(session: ObservedSession, caller: TraceContext | undefined): TraceContext {
    const { parent } = session.state
    const above = parent && this.#calls.get(parent.call)?.context
    const open = this.#open(session, above ?? remote(caller))
    const own = findTrace(open.context)
    this.#starting = { ...open, traceparent: own.traceparent }
    return own
  }

  recorded(session: ObservedSession, events: readonly Event[]): void {
    const { state } = session
    for (const event of events) {
      if (event.type === 'turn.started') this.#started(session, event.trace)
      else if (event.type === 'turn.ended') this.#endTurn(state.id, event.stop, event.error?.code)
      else if (event.type === 'call.started') this.#startCall(session, event.callId, event.attempt)
      else if (event.type === 'call.settled') this.#endCall(event.callId, event.outcome)
      else if (event.type === 'call.suspended') this.#endCall(event.callId, 'suspended')
      else if (event.type === 'call.postponed') this.#endCall(event.callId, 'postponed')
    }
    if (state.status !== 'running') this.#endTurn(state.id, state.status)
  }

  lost(session: string): void {
    for (const [id, call] of this.#calls) if (call.session === session) this.#endCall(id, 'lost')
    this.#endTurn(session, 'lost', 'lost')
  }

  #started(session: ObservedSession, own: TraceContext | undefined): void {
    const starting = this.#starting
    this.#starting = undefined
    const isOwn = starting !== undefined && starting.traceparent === own?.traceparent
    this.#turns.set(session.state.id, isOwn ? starting : this.#open(session, remote(own)))
  }

  /** The stretch of work that a session is in. It may go on after a wait, or after a restart. */
  #turn(session: ObservedSession): Open {
    const { id, turn } = session.state
    const known = this.#turns.get(id)
    if (known) return known
    const open = this.#open(session, remote(turn?.trace))
    this.#turns.set(id, open)
    return open
  }

  #open({ state }: ObservedSession, above: Context): Open {
    const attributes: Attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': state.agent,
      'gen_ai.conversation.id': state.id,
    }
    const span = this.#tracer.startSpan(
      `invoke_agent ${state.agent}`,
      { kind: SpanKind.INTERNAL, attributes },
      above,
    )
    return { span, context: trace.setSpan(above, span) }
  }

  #endTurn(session: string, stop: string, error?: string): void {
    const open = this.#turns.get(session)
    if (!open) return
    this.#turns.delete(session)
    open.span.setAttribute('turnwire.turn.stop', stop)
    if (error !== undefined) fail(open.span, error)
    open.span.end()
  }

  // ---- calls -----------------------------------------------------------------------------------------------

  #startCall(session: ObservedSession, callId: string, attempt: number): void {
    const running = this.#calls.get(callId)
    if (running) {
      running.span.addEvent('retry', { 'turnwire.call.attempt': attempt })
      return
    }
    const call = session.state.batch.find(({ part }) => part.id === callId)
    const tool = call?.part.name ?? 'unknown'
    const parent = call?.parent === undefined ? undefined : this.#calls.get(call.parent)
    const above = (parent ?? this.#turn(session)).context
    const span = this.#tracer.startSpan(
      `execute_tool ${tool}`,
      {
        kind: SpanKind.INTERNAL,
        attributes: {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': tool,
          'gen_ai.tool.call.id': callId,
          'gen_ai.tool.type': 'function',
          'gen_ai.conversation.id': session.state.id,
          ...(attempt > 1 && { 'turnwire.call.attempt': attempt }),
          ...(this.#content && call && { 'gen_ai.tool.call.arguments': bounded(call.text) }),
        },
      },
      above,
    )
    const { id, agent } = session.state
    const startedAt = performance.now()
    this.#calls.set(callId, {
      span,
      context: trace.setSpan(above, span),
      session: id,
      tool,
      agent,
      startedAt,
    })
  }

  #endCall(callId: string, outcome: Outcome | 'suspended' | 'postponed' | 'lost'): void {
    const open = this.#calls.get(callId)
    if (!open) return
    this.#calls.delete(callId)
    const kind = typeof outcome === 'string' ? outcome : outcome.kind
    open.span.setAttribute('turnwire.call.outcome', kind)
    if (this.#content && typeof outcome !== 'string')
      open.span.setAttribute('gen_ai.tool.call.result', bounded(joinText(outcome.parts)))
    const isFailure = kind !== 'ok' && kind !== 'suspended' && kind !== 'postponed'
    const errorType = (typeof outcome === 'string' ? undefined : outcome.errorType) ?? kind
    if (isFailure) fail(open.span, errorType)
    if (this.#content && typeof outcome !== 'string' && outcome.input !== undefined)
      open.span.setAttribute('gen_ai.tool.call.arguments', bounded(JSON.stringify(outcome.input)))
    open.span.end()
    this.#durations.record((performance.now() - open.startedAt) / 1000, {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': open.tool,
      ...(isFailure && { 'error.type': errorType }),
    })
  }

  inCall<Result>(callId: string, run: () => Result): Result {
    const open = this.#calls.get(callId)
    return open ? context.with(open.context, run) : run()
  }

  findTrace(callId: string): TraceContext | undefined {
    const open = this.#calls.get(callId)
    return open && findTrace(open.context)
  }

  // ---- models ----------------------------------------------------------------------------------------------

  /** Asks the model within a span of its own, which the vendor is told of. */
  async ask(
    model: Model,
    request: ModelRequest,
    watch: (delta: ModelDelta) => void,
    respond: Respond,
  ): Promise<ModelAnswer> {
    const above = this.#turns.get(request.session)?.context ?? remote(request.trace)
    const attributes = modelAttributes(model)
    const begun = performance.now()
    const span = this.#tracer.startSpan(
      `chat ${model.id}`,
      {
        kind: SpanKind.CLIENT,
        attributes: { ...attributes, ...requestAttributes(request), ...this.#input(request) },
      },
      above,
    )
    const inside = trace.setSpan(above, span)
    let failure: string | undefined
    const watched = (delta: ModelDelta): void => {
      if (delta.type === 'retry') span.addEvent('retry', { 'error.type': delta.code })
      watch(delta)
    }
    try {
      const answer = await context.with(inside, () =>
        respond({ ...request, trace: findTrace(inside) }, watched),
      )
      span.setAttributes({ ...answerAttributes(answer), ...this.#output(answer) })
      this.#countTokens(attributes, answer.usage)
      return answer
    } catch (error) {
      failure = error instanceof TurnwireError ? error.code : 'internal'
      fail(span, failure)
      throw error
    } finally {
      span.end()
      const asked = failure === undefined ? attributes : { ...attributes, 'error.type': failure }
      this.#durations.record((performance.now() - begun) / 1000, asked)
    }
  }

  #countTokens(attributes: Attributes, usage: Usage | undefined): void {
    if (!usage) return
    this.#tokens.record(usage.input, { ...attributes, 'gen_ai.token.type': 'input' })
    this.#tokens.record(usage.output, { ...attributes, 'gen_ai.token.type': 'output' })
  }

  #input(request: ModelRequest): Attributes {
    if (!this.#content) return {}
    return {
      'gen_ai.input.messages': bounded(JSON.stringify(request.history.slice(-20))),
      ...(request.system !== undefined && { 'gen_ai.system_instructions': bounded(request.system) }),
    }
  }

  #output({ parts }: ModelAnswer): Attributes {
    return this.#content ? { 'gen_ai.output.messages': bounded(JSON.stringify(parts)) } : {}
  }
}

/** Backends cut or drop longer values. */
function bounded(text: string): string {
  return text.length > 16_384 ? `${text.slice(0, 16_384)}…` : text
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** The convention's names of the vendors; a protocol that it does not know keeps its own. */
const providers: Readonly<Record<string, string>> = {
  anthropic: 'anthropic',
  'openai-responses': 'openai',
  'openai-chat': 'openai',
  gemini: 'gcp.gemini',
  'gemini-interactions': 'gcp.gemini',
}

/** Few values: metrics have them too. */
function modelAttributes(model: Model): Attributes {
  const protocol = model.origin?.protocol ?? 'turnwire'
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providers[protocol] ?? protocol,
    'gen_ai.request.model': model.id,
  }
}

function requestAttributes(request: ModelRequest): Attributes {
  return {
    'gen_ai.conversation.id': request.session,
    ...(request.maxTokens !== undefined && { 'gen_ai.request.max_tokens': request.maxTokens }),
  }
}

function answerAttributes({ stop, usage, requestId, vendor }: ModelAnswer): Attributes {
  return {
    'gen_ai.response.finish_reasons': [stop],
    ...(usage && {
      'gen_ai.usage.input_tokens': usage.input,
      'gen_ai.usage.output_tokens': usage.output,
    }),
    ...(usage?.cacheRead !== undefined && { 'gen_ai.usage.cache_read.input_tokens': usage.cacheRead }),
    ...(vendor?.id !== undefined && { 'gen_ai.response.id': vendor.id }),
    ...(vendor?.model !== undefined && { 'gen_ai.response.model': vendor.model }),
    ...(vendor?.version !== undefined && { 'turnwire.model.api_version': vendor.version }),
    ...(requestId !== undefined && { 'turnwire.model.request_id': requestId }),
  }
}

/** A context below a span of another process. */
function remote(above: TraceContext | undefined): Context {
  // It may come from an old log.
  const valid = readTrace(above?.traceparent, above?.tracestate)
  if (!valid) return ROOT_CONTEXT
  const [, traceId = '', spanId = '', flags = '00'] = valid.traceparent.split('-')
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(valid.tracestate !== undefined && { traceState: createTraceState(valid.tracestate) }),
  })
}

function findTrace(within: Context): TraceContext {
  const { traceId = '', spanId = '', traceFlags = 0, traceState } = trace.getSpanContext(within) ?? {}
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  const tracestate = traceState?.serialize()
  return tracestate ? { traceparent, tracestate } : { traceparent }
}
