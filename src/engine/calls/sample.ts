// A running call asks the session's model something of its own: an MCP server's sampling. The model is asked without
// the history, without tools and without the agent's instructions. Its usage is recorded before the call gets the
// answer, and counts towards the turn. The turn's limits are checked before each such request.
import { joinText } from '../../language/content.ts'
import type { AssistantEntry, Entry } from '../../language/history.ts'
import { type Abort, untilAborted } from '../../lib/async/abort.ts'
import type { SampleAnswer, SampleRequest } from '../ports/index.ts'
import { decideSampled } from '../rules/decide-turn.ts'
import type { CallState } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'
import { respondAsDemanded } from './demanded-answer.ts'

export async function sampleModel(
  session: CallSession,
  call: CallState,
  request: SampleRequest,
  stop: Abort,
): Promise<SampleAnswer> {
  const { state, agent } = session
  refuseOverLimit(session)
  const model = agent.model(state.settings)
  const signal = request.signal ? AbortSignal.any([stop.signal, request.signal]) : stop.signal
  const answering = respondAsDemanded(
    model,
    {
      session: session.id,
      ...(request.system !== undefined && { system: request.system }),
      history: request.messages.map(toSampleEntry),
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
  const { model: name = model.id } = answer
  await session.save([decideSampled(call, request.by, name, answer, session.context)])
  return { text: joinText(answer.parts), model: name, stop: answer.stop }
}

function refuseOverLimit({ state, limits }: CallSession): void {
  const { turn } = state
  if (turn && (turn.tokens > limits.tokens || turn.money >= limits.money))
    throw new Error('The turn has used up its tokens or its money.')
}

function toSampleEntry({ role, parts }: SampleRequest['messages'][number]): Entry {
  if (role === 'user') return { role, parts }
  const texts: AssistantEntry['parts'] = parts.map(part => ({
    type: 'text',
    text: part.type === 'text' ? part.text : `[${part.type}]`,
  }))
  return { role, parts: texts }
}
