// Several models as one: the first that answers. When one fails, the next is asked with the same history, in the neutral form
// that every protocol reads; artifacts of a vendor stay with it. Text that was shown is taken back; if the reader cannot do
// that, the failure ends the request. A model that keeps failing is passed over for a while.
import type { Model, ModelAnswer, ModelDelta, ModelMemory, ModelRequest } from '../engine/ports/index.ts'
import { type ErrorCode, hasCode, TurnwireError, wordsOf } from '../language/errors.ts'

export type ModelFailureCode = Extract<ErrorCode, `model_${string}`>

export type FallbackOptions = {
  /** The failures after which the next model is asked. Default: all. */
  on?: readonly ModelFailureCode[]
  /** After so many failures in a row a model is passed over. A rejected request does not count. Default: 3. */
  after?: number
  /** How long it is passed over. Default: a minute. */
  pauseMs?: number
  /** Milliseconds of a clock that nobody sets. */
  now?: () => number
}

const allFailures = ['model_failed', 'model_limited', 'model_rejected', 'model_timeout'] as const

/** One of the models, and how it did. `openUntil`: it is passed over until then. */
type Member = { model: Model; failures: number; openUntil: number }
type Settings = Required<FallbackOptions>

export function fallback(models: readonly Model[], options: FallbackOptions = {}): Model {
  if (!Array.isArray(models))
    throw new TurnwireError('config_invalid', 'fallback() takes a list: fallback([first, second], options).')
  const settings: Settings = {
    on: options.on ?? allFailures,
    after: options.after ?? 3,
    pauseMs: options.pauseMs ?? 60_000,
    now: options.now ?? (() => performance.now()),
  }
  checkFallback(models, settings)
  const members = models.map(model => ({ model, failures: 0, openUntil: -Infinity }))
  return {
    ...commonTraits(models),
    members: models,
    withMembers: others => fallback(others, options),
    respond: (request, watch, signal) => respond(members, settings, request, watch, signal),
  }
}

function checkFallback(models: readonly Model[], { on, after, pauseMs }: Settings): void {
  const stranger = models.findIndex(model => typeof model?.respond !== 'function')
  const unknown = on.find(code => !allFailures.includes(code))
  const problem =
    (models.length < 2 && 'It needs at least two models.') ||
    (stranger !== -1 &&
      `${JSON.stringify(models[stranger])} is no model. Give models, such as anthropic({ model }), and not their names.`) ||
    (unknown !== undefined && `\`on\` takes ${allFailures.join(', ')}; "${unknown}" is none of them.`) ||
    (!(Number.isInteger(after) && after >= 1) && '`after` must be a whole number of at least 1.') ||
    (!(pauseMs >= 0) && '`pauseMs` must be a number of milliseconds.')
  if (problem) throw new TurnwireError('config_invalid', `fallback(): ${problem}`)
}

/** What holds for all of them: any may be asked. */
function commonTraits(models: readonly Model[]): Omit<Model, 'respond'> {
  const [first] = models
  const least = (values: readonly (number | undefined)[]): number | undefined => {
    const known = values.filter(value => value !== undefined)
    return known.length > 0 ? Math.min(...known) : undefined
  }
  const contextTokens = least(models.map(model => model.contextTokens))
  const mostTools = least(models.map(model => model.mostTools))
  const [edge, bytes] = [
    least(models.map(({ images }) => images?.edge)),
    least(models.map(({ images }) => images?.bytes)),
  ]
  return {
    id: models.map(({ id }) => id).join(' or '),
    // Clients of the first one's API may send its artifacts along; the others are not given them.
    ...(first?.origin && { origin: first.origin }),
    ...(models.some(({ asksApproval }) => asksApproval) && { asksApproval: true }),
    ...(models.every(({ programs }) => programs) && { programs: true }),
    ...(models.every(({ searchesTools }) => searchesTools) && { searchesTools: true }),
    ...(contextTokens !== undefined && { contextTokens }),
    ...(mostTools !== undefined && { mostTools }),
    ...(edge !== undefined && bytes !== undefined && { images: { edge, bytes } }),
  }
}

async function respond(
  members: readonly Member[],
  settings: Settings,
  request: ModelRequest,
  watch: (delta: ModelDelta) => void,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  const asked = chooseMembers(members, settings, watch)
  let isShown = false
  const watchMember = (delta: ModelDelta): void => {
    if (delta.type === 'reset') isShown = false
    else if (delta.type !== 'retry') isShown = true
    watch(delta)
  }
  // Two waits for an answer would be longer than a turn may take.
  const endsInTime = (index: number): boolean =>
    index < asked.length - 1 && settings.on.includes('model_timeout')
  for (const [index, member] of asked.entries()) {
    const { model } = member
    try {
      const given = { ...requestFor(model, request), ...(endsInTime(index) && { hasNext: true as const }) }
      const answer = await model.respond(given, watchMember, signal)
      member.failures = 0
      return { ...answer, model: answer.model ?? model.id }
    } catch (error) {
      if (signal.aborted) throw error
      countFailure(member, error, settings)
      const next = asked[index + 1]?.model
      if (!next || !mayAskNext(error, settings) || (isShown && request.shownStays)) throw error
      watch({
        type: 'retry',
        code: error.code,
        message: `${model.id} failed, so ${next.id} is asked. ${wordsOf(error)}`,
      })
      if (isShown) watchMember({ type: 'reset' })
    }
  }
  throw new Error('Unreachable: the last member answers or throws.')
}

/** In order, without those that are passed over. If that leaves none, all are asked. */
function chooseMembers(
  members: readonly Member[],
  { now, after }: Settings,
  watch: (delta: ModelDelta) => void,
): readonly Member[] {
  const time = now()
  const chosen = members.filter(({ openUntil }) => openUntil <= time)
  if (chosen.length === 0 || chosen.length === members.length) return members
  for (const { model, openUntil } of members.slice(0, members.indexOf(chosen[0]!))) {
    const seconds = Math.ceil((openUntil - time) / 1000)
    const message = `${model.id} is passed over for another ${seconds} s: it failed ${after} times in a row.`
    watch({ type: 'retry', code: 'model_failed', message })
  }
  return chosen
}

/** A model may keep something of a session between requests: each has a place of its own for it. */
function requestFor(model: Model, request: ModelRequest): ModelRequest {
  const { memory } = request
  if (!memory) return request
  const places = memory.kept instanceof WeakMap ? memory.kept : new WeakMap<Model, ModelMemory>()
  memory.kept = places
  const own: ModelMemory = places.get(model) ?? {}
  places.set(model, own)
  return { ...request, memory: own }
}

/** The first failure after a pause begins the next one: the count stays until the model answers. */
function countFailure(member: Member, error: unknown, { now, after, pauseMs }: Settings): void {
  // A rejection is about the request, not about the model.
  if (hasCode(error, 'model_rejected')) return
  member.failures += 1
  if (member.failures >= after) member.openUntil = now() + pauseMs
}

function mayAskNext(error: unknown, { on }: Settings): error is TurnwireError {
  if (!(error instanceof TurnwireError) || error.hasRun) return false
  return on.some(code => code === error.code)
}
