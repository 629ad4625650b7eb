// A running call asks the session's model something of its own: an MCP server's sampling. The model is asked without the
// history, without tools and without the agent's instructions. What it cost is an event before the call gets the answer, and
// counts to the turn, whose limits hold before each such request.
import { textOf } from '../language/content.ts'
import type { AssistantEntry, Entry } from '../language/history.ts'
import { type Abort, untilAborted } from '../lib/abort.ts'
import { decideSampled } from './decide-turn.ts'
import type { SampleAnswer, SampleRequest } from './ports.ts'
import type { Session } from './session.ts'
import type { CallState } from './state.ts'

export async function sampleModel(
  session: Session,
  call: CallState,
  request: SampleRequest,
  stop: Abort,
): Promise<SampleAnswer> {
  const { state, agent } = session
  refuseOverLimit(session)
  const model = agent.model(state.settings)
  const signal = request.signal ? AbortSignal.any([stop.signal, request.signal]) : stop.signal
  const answering = model.respond(
    {
      session: session.id,
      ...(request.system !== undefined && { system: request.system }),
      history: request.messages.map(entryOf),
      tools: [],
      choice: 'none',
      parallel: false,
      maxTokens: request.maxTokens,
      options: session.options(),
      hosted: false,
    },
    () => {},
    signal,
  )
  const answer = await untilAborted(answering, signal)
  await session.save([decideSampled(call, request.by, model.id, answer, session.context)])
  return { text: textOf(answer.parts), model: model.id, stop: answer.stop }
}

function refuseOverLimit({ state, limits }: Session): void {
  const { turn } = state
  if (turn && (turn.tokens > limits.tokens || turn.money >= limits.money))
    throw new Error('The turn has used up its tokens or its money.')
}

function entryOf({ role, parts }: SampleRequest['messages'][number]): Entry {
  if (role === 'user') return { role, parts }
  const texts: AssistantEntry['parts'] = parts.map(part => ({
    type: 'text',
    text: part.type === 'text' ? part.text : `[${part.type}]`,
  }))
  return { role, parts: texts }
}
