// One model step of a session: the request, shown while it is answered, and the answer as the hooks leave it.
import { respondAsDemanded } from '../calls/demanded-answer.ts'
import { hidesArguments } from '../calls/hidden-arguments.ts'
import { afterStep, beforeStep, hookSubject, recorder } from '../calls/hooks.ts'
import { type Step, translate } from '../log/step.ts'
import type { Model, ModelAnswer, ModelDelta, ModelRequest } from '../ports/index.ts'
import { logRetry } from './log-warnings.ts'
import type { TurnSession } from './turn-session.ts'

/** `number`: of the step in its turn. The promise rejects when the step is stopped. */
export function askModel(
  session: TurnSession,
  model: Model,
  step: Step,
  number: number,
): Promise<ModelAnswer> {
  // Without hooks no async function wraps the model's promise: thousands of steps wait at once.
  return session.ports.hooks
    ? askWithHooks(session, model, step, number)
    : step.stop.until(respond(session, model, session.request(), step, number))
}

async function askWithHooks(
  session: TurnSession,
  model: Model,
  step: Step,
  number: number,
): Promise<ModelAnswer> {
  const { ports } = session
  // Nothing is shown that a hook may still withhold.
  if (ports.hooks?.afterStep) step.isUnseen = true
  const subject = hookSubject(session)
  const whole = session.request()
  const before = beforeStep(ports, subject, whole, recorder(session, 'beforeStep'))
  const request = await step.stop.until(before)
  const withheld = whole.tools.filter(tool => !request.tools.includes(tool))
  if (withheld.length > 0) step.withheld = withheld.map(({ name }) => name)
  const answer = await step.stop.until(respond(session, model, request, step, number))
  return step.stop.until(afterStep(ports, subject, answer, recorder(session, 'afterStep')))
}

function respond(
  session: TurnSession,
  model: Model,
  request: ModelRequest,
  step: Step,
  number: number,
): Promise<ModelAnswer> {
  const { feed, ports } = session
  const { world } = ports
  const mayHide = session.offer.hidesArguments
  const watch = (delta: ModelDelta): void => {
    if (step.over) return
    const shown = translate(step, delta, number, world)
    if (delta.type === 'retry') logRetry(ports, delta, { session: session.id, model: model.id })
    if (!shown) return
    // A secret may arrive in pieces: such arguments are shown once they are whole.
    if (mayHide && delta.type === 'arguments' && hidesArguments(session, step.calls[delta.index]?.name ?? ''))
      return
    if (!step.isUnseen) feed.delta(shown)
  }
  const { signal } = step.stop
  return request.choice === 'auto' && request.parallel
    ? model.respond(request, watch, signal)
    : respondAsDemanded(model, request, watch, signal)
}
