// An attached agent as a model: the request goes to a machine in the relay's form, and the answer is read by the decoder of
// the Responses protocol, as that of any vendor. A machine that fails before it said anything costs the client nothing:
// another one is asked. Once something was said, a failure is a failure.
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import type { ModelTarget, Prepared } from '../../models/protocol.ts'
import { noReasoning, openaiResponses } from '../../models/protocols/openai-responses/index.ts'
import { usageIn } from '../frames.ts'
import { toMachineForm } from '../request.ts'
import { AnswerCheck, countedTokens } from './check-answer.ts'
import type { Dispatch } from './dispatch.ts'
import { FarMachine, type Forwarded, machineHere, type RemoteResult } from './elsewhere.ts'
import type { Ending, Machine } from './machine.ts'
import type { AnyMachine, Registry, RelayAgent, Route } from './registry.ts'

/** The target of a relayed request: the `to` of its `ask`. */
export type RelayedTo = {
  route: Route
  /** The name of the model that the machine is told. */
  model: string
  /** The client reads a stream. */
  stream: boolean
}

/** Undefined: the request was not made by the relay. */
export function relayedTo(to: JsonObject | undefined): RelayedTo | undefined {
  // Only target.ts and prices.ts write it.
  return to as RelayedTo | undefined
}

/** How a request ended, for those who count or charge it. */
export type Served = { agent: RelayAgent; input: number; output: number }

export type RelayModelOptions = {
  registry: Registry
  dispatch: Dispatch
  /** Machines that are asked for one request. */
  attempts: number
  now: () => number
  /** Called once for each request that was answered. */
  onServed?: (served: Served) => void
}

const target: ModelTarget = {
  model: 'default',
  family: 'attached',
  maxTokens: 0,
  body: {},
  hosted: [],
  quirks: new Set([noReasoning]),
  stateful: false,
}

export function relayModel(options: RelayModelOptions): Model {
  return {
    id: 'relay',
    respond: (request, watch, signal) => new RelayedRequest(options, request, watch, signal).answer(),
  }
}

/**
 * Asks a machine of this node for another one. There is one attempt: others are up to the node that has the client, which
 * also has its hooks, limits and payments.
 */
export async function answerHere(
  options: RelayModelOptions,
  forwarded: Forwarded,
  watch: (delta: ModelDelta) => void,
  signal: AbortSignal,
): Promise<RemoteResult> {
  if (!machineHere(options.registry, forwarded)) return { ending: { end: 'gone' }, shown: false }
  return new RelayedRequest(options, forwarded.request, watch, signal).answerAt(forwarded)
}

class RelayedRequest {
  readonly #options: RelayModelOptions
  readonly #to: RelayedTo
  readonly #request: ModelRequest
  readonly #watch: (delta: ModelDelta) => void
  readonly #signal: AbortSignal
  readonly #prepared: Prepared<Parameters<typeof openaiResponses.initial>[0]>
  readonly #body: JsonObject
  readonly #tried = new Set<AnyMachine>()

  constructor(
    options: RelayModelOptions,
    request: ModelRequest,
    watch: (delta: ModelDelta) => void,
    signal: AbortSignal,
  ) {
    this.#options = options
    const to = relayedTo(request.to)
    if (!to) throw new TurnwireError('internal', 'A relayed request names nobody.')
    this.#to = to
    this.#request = request
    this.#watch = watch
    this.#signal = signal
    const fields = request.body?.[openaiResponses.name] ?? {}
    this.#prepared = openaiResponses.prepare(request, { ...target, body: fields })
    const body = parseJson(this.#prepared.body, {
      maxBytes: Infinity,
      maxKeys: Infinity,
      maxValues: Infinity,
    })
    // The vendor's smallest limit is not that of an attached agent.
    const limit = request.maxTokens === undefined ? {} : { max_output_tokens: request.maxTokens }
    this.#body = toMachineForm({ ...(isJsonObject(body) ? body : {}), ...limit }, to.model, to.stream)
  }

  async answer(): Promise<ModelAnswer> {
    const { dispatch, attempts } = this.#options
    for (let attempt = 1; ; attempt++) {
      const slot = await dispatch.slot(this.#to.route, this.#tried, this.#signal)
      try {
        const { agent, machine } = slot
        const result = await (machine instanceof FarMachine
          ? this.#askElsewhere(agent, machine)
          : this.#askAt(agent, machine))
        if ('answer' in result) return result.answer
        this.#tried.add(slot.machine)
        if (result.shown || attempt >= attempts || !this.#mayAskAgain(result.ending))
          throw endingFailure(result.ending)
      } finally {
        slot.release()
      }
    }
  }

  async answerAt({ agentId, machine: id }: Forwarded): Promise<RemoteResult> {
    const { dispatch } = this.#options
    const slot = await dispatch.slot({ agentId, machine: id }, this.#tried, this.#signal)
    try {
      // Only a machine of this node can be named.
      return await this.#askAt(slot.agent, slot.machine as Machine)
    } finally {
      slot.release()
    }
  }

  /** A named agent that reported a failure is not asked again. One that is gone may come back. */
  #mayAskAgain({ end }: Ending): boolean {
    return typeof this.#to.route !== 'object' || end === 'gone'
  }

  async #askElsewhere({ agentId, elsewhere }: RelayAgent, machine: FarMachine): Promise<RemoteResult> {
    const { memory: _, ...request } = this.#request
    const forwarded = { agentId, machine: machine.id, request }
    const result = await machine.node.answer(forwarded, this.#watch, this.#signal)
    this.#signal.throwIfAborted()
    // Its node lets the agent rest, and says so in a moment.
    if ('ending' in result && result.ending.end !== 'gone')
      for (const each of elsewhere.get(machine.node.id)?.machines.values() ?? []) each.rest()
    else if ('ending' in result) machine.rest()
    return result
  }

  async #askAt(agent: RelayAgent, machine: Machine): Promise<RemoteResult> {
    const { registry, now } = this.#options
    const begun = now()
    const reader = new AnswerReader(this.#prepared.reading, this.#watch)
    const check = new AnswerCheck(this.#prepared.reading.names.keys())
    let firstFrameMs: number | undefined
    const ending = await new Promise<Ending | 'left'>(resolve => {
      const leave = machine.ask(this.#body, this.#to.stream, {
        event: event => {
          firstFrameMs ??= now() - begun
          const checked = check.event(event)
          if (checked) reader.take(checked)
        },
        end: ended => {
          this.#signal.removeEventListener('abort', left)
          resolve(ended)
        },
      })
      const left = (): void => {
        leave()
        resolve('left')
      }
      this.#signal.addEventListener('abort', left, { once: true })
      if (this.#signal.aborted) left()
    })
    if (ending === 'left') {
      agent.counts.left += 1
      throw this.#signal.reason
    }
    const result = this.#makeResult(ending, reader, check)
    if ('answer' in result) {
      registry.succeeded(agent, firstFrameMs ?? now() - begun)
      this.#count(agent, result.answer)
    } else registry.failed(agent, howFailed(ending))
    return result
  }

  #makeResult(ending: Ending, reader: AnswerReader, check: AnswerCheck): RemoteResult {
    const broken = (reason: string): RemoteResult => ({
      ending: { end: 'broken', reason },
      shown: reader.shown,
    })
    if (ending.end !== 'response' && ending.end !== 'stream') return { ending, shown: reader.shown }
    try {
      if (ending.end === 'response') reader.take(check.response({ object: 'response', ...ending.body }))
    } catch (error) {
      return broken(error instanceof Error ? error.message : 'The answer cannot be read.')
    }
    const halted = openaiResponses.halt(reader.state)
    if ('failure' in halted) {
      const { message } = halted.failure
      return { ending: { end: 'error', message }, shown: reader.shown }
    }
    const stated = [reader.usage, ...(ending.end === 'stream' && ending.usage ? [ending.usage] : [])]
    return { answer: { ...halted.answer, usage: countedTokens(stated, this.#request.maxTokens) } }
  }

  #count(agent: RelayAgent, { usage }: ModelAnswer): void {
    const { input, output } = usage ?? { input: 0, output: 0 }
    agent.counts.inputTokens += input
    agent.counts.outputTokens += output
    this.#options.onServed?.({ agent, input, output })
  }
}

class AnswerReader {
  readonly state: ReturnType<typeof openaiResponses.initial>
  readonly #watch: (delta: ModelDelta) => void
  shown = false
  usage: ReturnType<typeof usageIn>

  constructor(reading: Parameters<typeof openaiResponses.initial>[0], watch: (delta: ModelDelta) => void) {
    this.state = openaiResponses.initial(reading)
    this.#watch = watch
  }

  /** An event of a stream, or a whole response. */
  take(event: JsonObject): void {
    const { type } = event
    const response = type === undefined ? event : event['response']
    this.usage = usageIn(response) ?? this.usage
    const named = typeof type === 'string' ? { event: type } : {}
    for (const delta of openaiResponses.step(this.state, { ...named, data: JSON.stringify(event) })) {
      this.shown = true
      this.#watch(delta)
    }
  }
}

function howFailed({ end }: Ending): Parameters<Registry['failed']>[1] {
  return end === 'gone' ? 'gone' : end === 'error' ? 'refused' : 'failed'
}

function endingFailure(ending: Ending): TurnwireError {
  if (ending.end === 'late')
    return new TurnwireError(
      'model_timeout',
      ending.phase === 'first'
        ? 'The attached agent did not begin to answer in time.'
        : 'The attached agent fell silent in the middle of its answer.',
    )
  const reason =
    ending.end === 'error'
      ? `The attached agent failed: ${printable(ending.message, 500)}`
      : ending.end === 'broken'
        ? `The attached agent broke the protocol. ${ending.reason}`
        : 'The attached agent was disconnected.'
  return new TurnwireError('model_failed', reason)
}
