// Enforces the tool choice on the calls of an answer: no forbidden call, a call if one is demanded, and at most one
// call if they may not be parallel. A forbidden call is never shown. Text is held back while a call is demanded, since
// some readers cannot take anything back. A request without demands goes straight to the model.
import { joinText } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Usage } from '../../language/events.ts'
import { repairEntries } from '../../language/history.ts'
import { type ChoiceDemand, isApproval, readDemand } from '../../language/tool-choice.ts'
import { mayCall } from '../../language/tools.ts'
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../ports/index.ts'
import { addUsage } from '../rules/usage.ts'

/** How often an answer that its caller cannot use is asked for again. */
const mostRepairs = 2

type Watch = (delta: ModelDelta) => void
type Unused = { answer: ModelAnswer; problem: string }
type Demand = ChoiceDemand & { single: boolean }

/** The answer of the model, as its caller demands it. Every request with a demand is made through this function. */
export function respondAsDemanded(
  model: Model,
  request: ModelRequest,
  watch: Watch,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  if (request.choice === 'auto' && request.parallel) return model.respond(request, watch, signal)
  const demand: Demand = {
    ...readDemand(request.choice, request.tools),
    // A program at the vendor waits for all of its calls.
    single: !request.parallel && model.programs !== true,
  }
  return askUntilMet(model, request, demand, watch, signal)
}

async function askUntilMet(
  model: Model,
  request: ModelRequest,
  demand: Demand,
  watch: Watch,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  refuseUnmeetable(request)
  const unused: Unused[] = []
  for (let asked = request; ; ) {
    const screen = new CallScreen(demand, watch)
    const answer = await model.respond(asked, delta => screen.watch(delta), signal)
    signal.throwIfAborted()
    const judged = screen.judge(answer)
    if ('answer' in judged) return unused.length === 0 ? judged.answer : withRepairs(judged.answer, unused)
    const { problem } = judged
    unused.push({ answer, problem })
    if (unused.length > mostRepairs)
      throw new TurnwireError('model_failed', `The model did not answer as it was asked to. ${problem}`)
    asked = repairRequest(request, answer, problem)
  }
}

/** No model could make such a call, however often it is asked. */
function refuseUnmeetable({ choice, tools }: ModelRequest): void {
  if (typeof choice === 'string' || !('tool' in choice)) return
  const tool = tools.find(({ name }) => name === choice.tool)
  if (tool && !mayCall(tool, 'model'))
    throw new TurnwireError(
      'bad_request',
      `The tool choice demands "${choice.tool}", which only programs may call. Demand another tool, or let the model call this one.`,
    )
}

class CallScreen {
  readonly #demand: Demand
  readonly #watch: Watch
  /** The calls that were shown: the model's index → ours. */
  #shown = new Map<number, number>()
  #held: ModelDelta[] = []
  #holds: boolean
  #hasCall = false

  constructor(demand: Demand, watch: Watch) {
    this.#demand = demand
    this.#watch = watch
    this.#holds = demand.forces
  }

  watch(delta: ModelDelta): void {
    switch (delta.type) {
      case 'text':
        if (this.#holds) this.#held.push(delta)
        else this.#watch(delta)
        break
      case 'call':
        this.#open(delta)
        break
      case 'arguments': {
        const index = this.#shown.get(delta.index)
        if (index !== undefined) this.#watch({ ...delta, index })
        break
      }
      case 'reset':
        this.#shown = new Map()
        this.#held = []
        this.#holds = this.#demand.forces
        this.#hasCall = false
        this.#watch(delta)
        break
      default:
        this.#watch(delta)
    }
  }

  #open(delta: Extract<ModelDelta, { type: 'call' }>): void {
    if (!this.#takes(delta.name)) return
    // The demand is met, so the text need not be held back any longer.
    this.#release()
    const index = this.#shown.size
    this.#shown.set(delta.index, index)
    this.#watch({ ...delta, index })
  }

  /** Whether this call, the next of the answer, is one of those that count. */
  #takes(name: string): boolean {
    const { allows, single } = this.#demand
    if (allows?.(name) === false) return false
    if (!single || isApproval(name)) return true
    const isFirst = !this.#hasCall
    this.#hasCall = true
    return isFirst
  }

  #release(): void {
    this.#holds = false
    for (const held of this.#held) this.#watch(held)
    this.#held = []
  }

  judge(answer: ModelAnswer): { answer: ModelAnswer } | { problem: string } {
    const { forces } = this.#demand
    const parts = this.#taken(answer.parts)
    const dropped = answer.parts.length - parts.length
    const hasCalls = parts.some(part => part.type === 'call')
    const stop = answer.stop === 'calls' && !hasCalls ? 'end' : answer.stop
    if (stop === 'end') {
      const did = parts.some(part => part.type === 'hosted')
      if (forces && !did) return { problem: 'A tool had to be called, and none that may be used was called.' }
      if (dropped > 0 && !did && joinText(parts).trim() === '')
        return { problem: 'No tool may be called now. Answer in text.' }
    }
    this.#release()
    if (dropped === 0) return { answer }
    // The vendor stored the whole answer. `continuity` would refer to that, and not to the parts that are left.
    const { continuity: _, ...rest } = answer
    return { answer: { ...rest, parts, stop, warnings: [...(answer.warnings ?? []), this.#warning] } }
  }

  /** The parts that count. Thinking after the single call led to a call that is dropped, so it is dropped too. */
  #taken(parts: ModelAnswer['parts']): ModelAnswer['parts'] {
    this.#hasCall = false
    let isPast = false
    return parts.filter(part => {
      if (part.type === 'call') {
        const takes = this.#takes(part.name)
        isPast ||= this.#demand.single && !isApproval(part.name) && takes
        return takes
      }
      return !isPast || part.type !== 'thinking'
    })
  }

  get #warning(): string {
    return this.#demand.allows
      ? 'The model made a call that the tool choice forbids. It was left out.'
      : 'The model made several calls where one at a time is allowed. Only the first was taken.'
  }
}

/** The same request, with the unused answer and its problem added. Neither is recorded in the session. */
function repairRequest(request: ModelRequest, answer: ModelAnswer, problem: string): ModelRequest {
  const { memory: _, ...asked } = request
  return { ...asked, history: [...request.history, ...repairEntries(joinText(answer.parts), problem)] }
}

function withRepairs(answer: ModelAnswer, unused: readonly Unused[]): ModelAnswer {
  const usages: Usage[] = [...unused.map(each => each.answer), answer].flatMap(({ usage }) => usage ?? [])
  const again = unused.map(({ problem }) => `The model was asked again. ${problem}`)
  return {
    ...answer,
    ...(usages.length > 0 && { usage: usages.reduce(addUsage) }),
    warnings: [...(answer.warnings ?? []), ...again],
  }
}
