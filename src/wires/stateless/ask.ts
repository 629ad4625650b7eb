// One stateless request: a session that lives for one answer of the model, in the engine that keeps nothing and has no
// tools of its own. The session is driven by hand, so that exactly one answer is asked for: its calls are handed to the
// caller as the model made them, for the caller to judge and run. Whoever goes away cancels.
import { ManualControl, type Session } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Ask, Delta, ModelAnswered, Settings, TurnEnded, Usage } from '../../language/events.ts'
import type { Entry } from '../../language/history.ts'
import type { WireHost } from '../host.ts'
import type { Target } from './target.ts'

export type Asked = {
  target: Target
  wire: string
  settings: Pick<Settings, 'clientTools' | 'model'> & Ask
  seed: Entry[]
}

/** The whole answer. One that the vendor paused and went on with is told as one. */
export type Answer = Pick<ModelAnswered, 'parts' | 'stop' | 'usage'>

/** The caller is gone: there is nobody left to answer. */
export class Gone extends Error {
  override readonly name = 'Gone'
}

type Heard = { answers: ModelAnswered[]; ended?: TurnEnded }

export async function ask(
  host: Pick<WireHost, 'ephemeral'>,
  owner: string,
  asked: Asked,
  signal: AbortSignal,
  watch: (delta: Delta) => void = () => {},
): Promise<Answer> {
  const { target, wire: door, seed } = asked
  const { clientTools, model, ...asks } = asked.settings
  const settings: Settings = {
    tools: null,
    options: {},
    clientTools,
    ...(model !== undefined && { model }),
    ...target.settings,
  }
  if (signal.aborted) throw new Gone()
  const session = await host.ephemeral.create({ owner, agent: target.agent.name, wire: door, settings, seed })
  const heard: Heard = { answers: [] }
  const unwatch = session.feed.watch(item => {
    if (item.type === 'delta') watch(item.delta)
    else if (item.type !== 'event') return
    else if (item.event.type === 'model.answered') heard.answers.push(item.event)
    else if (item.event.type === 'turn.ended') heard.ended = item.event
  })
  const cancel = (): void => void session.cancel().catch(() => {})
  signal.addEventListener('abort', cancel)
  try {
    await drive(session, door, asks, signal)
    return answerOf(target, heard)
  } catch (error) {
    throw signal.aborted ? new Gone() : error
  } finally {
    signal.removeEventListener('abort', cancel)
    unwatch()
    await host.ephemeral.discard(session)
  }
}

async function drive(session: Session, wire: string, asks: Ask, signal: AbortSignal): Promise<void> {
  const hand = await ManualControl.take(session, wire)
  if (signal.aborted) return
  await session.say({ parts: [], wire, ask: asks })
  // Once, unless the vendor paused its answer to be asked again with it.
  while (hand.look().do === 'ask-model') {
    if (session.stopping || session.lost) throw stopping()
    await hand.perform()
  }
}

function answerOf(target: Target, { answers, ended }: Heard): Answer {
  if (ended?.error) throw new TurnwireError(ended.error.code, ended.error.message)
  if (ended?.stop === 'limit')
    throw new TurnwireError(
      'model_timeout',
      `The model did not answer within the time that "${target.agent.name}" has.`,
    )
  const last = answers.at(-1)
  if (ended || !last) throw stopping()
  const usages = answers.flatMap(({ usage }) => usage ?? [])
  return {
    parts: answers.flatMap(answer => answer.parts),
    stop: last.stop,
    ...(usages.length > 0 && { usage: usages.reduce(sum) }),
  }
}

function sum(a: Usage, b: Usage): Usage {
  const total: Usage = { input: a.input + b.input, output: a.output + b.output }
  for (const key of ['cacheRead', 'cacheWrite', 'thinking', 'cost'] as const) {
    const count = (a[key] ?? 0) + (b[key] ?? 0)
    if (count > 0) total[key] = count
  }
  return total
}

function stopping(): TurnwireError {
  return new TurnwireError('stopping', 'The server is stopping. Try again in a moment.')
}
