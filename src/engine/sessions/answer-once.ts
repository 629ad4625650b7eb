// One model answer without a session: no log, no tools of the server, nothing kept. The caller gets deltas and then the
// answer, whose calls it runs itself. A vendor may pause its answer to be asked again with it; that is one answer here.
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { Ask, Delta, Settings } from '../../language/events.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import { StepDeltas } from '../../language/step-deltas.ts'
import { Abort } from '../../lib/async/abort.ts'
import { Batches } from '../../lib/async/batches.ts'
import { respondAsDemanded } from '../calls/demanded-answer.ts'
import { afterStep, beforeStep } from '../calls/hooks.ts'
import { newStep, translate } from '../log/step.ts'
import type { OnceAnswer, OnceItem, OnceRequest } from '../ports/boundary.ts'
import type { Agent, EnginePorts, Model, ModelAnswer, ModelRequest } from '../ports/index.ts'
import { chooseDeclared, chooseSearch, type Declared, loadFrom } from '../rules/loaded.ts'
import { buildOffer, checkAsk, checkOfferSettings } from '../rules/offer.ts'
import { makeRequest } from '../rules/request.ts'
import { boundResults } from '../rules/seed.ts'
import { answerSpending } from '../rules/spending.ts'
import { addUsage } from '../rules/usage.ts'
import { refuseIfSpent } from '../turn/check-budgets.ts'
import { logRetry, logWarnings } from '../turn/log-warnings.ts'

/** `running` holds the request until it is over. Aborting it there fails the request with the reason. */
export function answerOnce(
  ports: EnginePorts,
  agent: Agent,
  request: OnceRequest,
  running: Set<Abort>,
  signal?: AbortSignal,
): AsyncIterable<readonly OnceItem[]> {
  const once = new Once(ports, agent, request, running)
  if (signal?.aborted) once.leave()
  signal?.addEventListener('abort', () => once.leave(), { once: true })
  return once.items
}

class Once {
  readonly items = new Batches<OnceItem>(() => this.#stopModel())
  readonly #ports: EnginePorts
  readonly #agent: Agent
  readonly #request: OnceRequest
  readonly #stop = new Abort()
  readonly #deltas: StepDeltas | undefined
  readonly #raw: boolean
  readonly #running: Set<Abort>

  constructor(ports: EnginePorts, agent: Agent, request: OnceRequest, running: Set<Abort>) {
    this.#ports = ports
    this.#agent = agent
    this.#request = request
    this.#running = running
    running.add(this.#stop)
    const { deltas } = request
    this.#raw = deltas === 'raw'
    this.#deltas = deltas === 'none' || deltas === 'raw' ? undefined : new StepDeltas(deltas)
    void this.#run()
  }

  /** The caller is gone: the model is stopped, and nothing more is given. */
  leave(): void {
    if (this.items.ended) return
    this.items.end()
    this.#stopModel()
  }

  #stopModel(): void {
    this.#stop.abort(new TurnwireError('stopping', 'The request was cancelled.'))
  }

  async #run(): Promise<void> {
    const { world } = this.#ports
    const agent = this.#agent
    const stopClock = world.timer(agent.limits.time, () =>
      this.#stop.abort(
        new TurnwireError(
          'model_timeout',
          `The model did not answer within the time that "${agent.name}" has.`,
        ),
      ),
    )
    try {
      const answer = await this.#answer()
      this.items.push({ type: 'answer', answer })
      this.items.end()
    } catch (error) {
      if (!this.items.ended) this.#log(error)
      this.items.fail(error)
    } finally {
      stopClock()
      this.#running.delete(this.#stop)
    }
  }

  async #answer(): Promise<OnceAnswer> {
    const { clientTools, model: name, ask = {}, history } = this.#request
    const settings = { tools: null, options: {}, clientTools, ...(name !== undefined && { model: name }) }
    const agent = this.#agent
    checkOfferSettings(agent, settings, settings, true)
    checkAsk(ask)
    const model = agent.model(settings)
    const entries: Entry[] = boundResults(history, agent.gate).entries
    const answers: ModelAnswer[] = []
    const parts: AnswerPart[] = []
    const declared = this.#declared(model, entries, settings)
    for (let step = 1; ; step++) {
      if (agent.budgets) await refuseIfSpent(this.#ports, agent, this.#request.owner)
      const answer = await this.#step(model, this.#makeRequest(entries, ask, declared), step, parts)
      answers.push(answer)
      if (answer.stop !== 'pause' || step >= agent.limits.steps)
        return wholeAnswer(answer.model ?? model.id, parts, answers)
      entries.push({
        role: 'assistant',
        parts: answer.parts.filter(part => part.type !== 'call'),
        ...(answer.origin && { origin: answer.origin }),
        ...(answer.continuity && { continuity: answer.continuity }),
      })
    }
  }

  /** The client's tools: of its deferred ones those that the history has found. */
  #declared(model: Model, history: readonly Entry[], settings: Settings): Declared {
    const loaded: string[] = []
    loadFrom(loaded, history)
    const search = chooseSearch({}, this.#request.ask, model)
    return chooseDeclared(buildOffer(this.#agent, settings, [], true), {
      ...search,
      loaded,
      isDenied: () => false,
    })
  }

  #makeRequest(history: readonly Entry[], ask: Ask, declared: Declared): ModelRequest {
    const agent = this.#agent
    const options = Object.fromEntries(agent.options.map(option => [option.name, option.default]))
    const request = makeRequest(
      agent,
      {
        session: this.#ports.world.id('once'),
        history,
        ask: { ...ask, clientOnly: true },
        ...(this.#request.trace && { trace: this.#request.trace }),
      },
      { ...declared, options },
    )
    if (this.#request.deltas === 'fail') request.shownStays = true
    return request
  }

  /** Asks the model once and adds the parts of its answer. */
  async #step(
    model: Model,
    request: ModelRequest,
    number: number,
    parts: AnswerPart[],
  ): Promise<ModelAnswer> {
    const step = newStep(this.#stop)
    const { world, hooks } = this.#ports
    this.#give({ type: 'step.started', step: number })
    const subject = { session: request.session, owner: this.#request.owner, agent: this.#agent.name }
    const ignore = (): void => {}
    const asked = hooks?.beforeStep ? await beforeStep(this.#ports, subject, request, ignore) : request
    const said = await this.#stop.until(
      respondAsDemanded(
        model,
        asked,
        delta => {
          if (this.items.ended || this.#stop.aborted) return
          const shown = translate(step, delta, number, world)
          if (delta.type === 'retry')
            logRetry(this.#ports, delta, { agent: this.#agent.name, model: model.id })
          // Nothing is shown that a hook may still withhold.
          if (shown && !hooks?.afterStep) this.#give(shown)
        },
        this.#stop.signal,
      ),
    )
    // An answer that a hook withholds has been paid for too.
    if (this.#ports.countsSpending)
      await this.#ports.store.spend?.(answerSpending(said, subject, world.now()))
    const answer = hooks?.afterStep ? await afterStep(this.#ports, subject, said, ignore) : said
    if (answer.warnings) logWarnings(this.#ports, model.id, answer.warnings)
    let index = 0
    const own = answer.parts.map(part =>
      part.type === 'call' ? { ...part, id: step.calls[index++]?.id ?? world.id('call') } : part,
    )
    this.#deltas?.complete(own, this.#push)
    parts.push(...own)
    return answer
  }

  #give(delta: Delta): void {
    if (this.#raw) this.#push(delta)
    else if (this.#deltas) {
      try {
        this.#deltas.delta(delta, this.#push)
      } catch (error) {
        this.#stop.abort(error)
      }
    }
  }

  readonly #push = (delta: Delta): void => this.items.push({ type: 'delta', delta })

  #log(error: unknown): void {
    this.#ports.log('error', 'A stateless request failed.', {
      agent: this.#agent.name,
      code: error instanceof TurnwireError ? error.code : 'internal',
      error: wordsOf(error),
    })
  }
}

function wholeAnswer(model: string, parts: AnswerPart[], answers: readonly ModelAnswer[]): OnceAnswer {
  let usage: ModelAnswer['usage']
  const warnings: string[] = []
  for (const answer of answers) {
    if (answer.usage) usage = usage ? addUsage(usage, answer.usage) : answer.usage
    if (answer.warnings) warnings.push(...answer.warnings)
  }
  const last = answers.at(-1)
  return {
    parts,
    stop: last === undefined || last.stop === 'pause' ? 'end' : last.stop,
    model,
    ...(last?.origin && { origin: last.origin }),
    ...(usage && { usage }),
    ...(last?.continuity && { continuity: last.continuity }),
    ...(warnings.length > 0 && { warnings }),
  }
}
