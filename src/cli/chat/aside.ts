// A line that a person types while a turn runs: a message for that turn, one for the next, or a call to stop.
import type { AapClient, SentMessage, ToolCall, TurnEvent } from '../../client/index.ts'
import { joinText } from '../../language/content.ts'
import { type Shown, ShownFold } from '../../language/show.ts'
import { printable } from '../../lib/text/index.ts'
import type { ReadPosition } from './follow.ts'

const asideHelp = 'a message for the model now; /queue <text> for afterwards; /interrupt <text>; /stop [tool]'

type Aside = { client: AapClient; session: string; calls: ReadonlyMap<string, Pick<ToolCall, 'name'>> }

/** Does what the line says. Gives the words that tell so. */
export async function sayAside({ client, session, calls }: Aside, line: string): Promise<string> {
  const [, command = '', rest = ''] = /^\/(queue|interrupt|stop)\b\s*([\s\S]*)$/.exec(line) ?? []
  if (command === 'stop') return stopCalls({ client, session, calls }, rest.trim())
  if (command === '' && line.startsWith('/')) return `While a turn runs: ${asideHelp}`
  const text = command === '' ? line : rest.trim()
  if (text === '') return ''
  const during = command === '' ? 'steer' : command === 'queue' ? 'queue' : 'interrupt'
  return told(await client.say(session, text, { during }), during)
}

function told({ state }: SentMessage, during: 'queue' | 'steer' | 'interrupt'): string {
  if (state === 'delivered') return 'The model reads it now.'
  return during === 'queue'
    ? 'It is said when this turn has ended.'
    : 'The model reads it with its next step.'
}

/** `name`: only calls of this tool. */
async function stopCalls({ client, session, calls }: Aside, name: string): Promise<string> {
  const { running } = await client.getState(session)
  const wanted = running.filter(id => name === '' || calls.get(id)?.name === name)
  for (const id of wanted) await client.cancelCall(session, id)
  const names = wanted.map(id => printable(calls.get(id)?.name ?? id, 80))
  return names.length === 0 ? 'No such call runs.' : `Stopped: ${names.join(', ')}.`
}

/** Gives the turns that began after the position, until the session rests or waits. Moves the position. */
export async function showTurns(
  client: AapClient,
  position: ReadPosition,
  show: (event: TurnEvent) => void,
): Promise<void> {
  const { session } = position
  let { lastEvent: last } = await client.getState(session)
  if (last <= position.seq) return
  const fold = new ShownFold()
  let isNew = false
  for await (const item of client.watch(session, { after: position.seq })) {
    if ('delta' in item) continue
    position.seq = item.seq
    const shown = fold.take(item.event)
    isNew ||= shown?.type === 'turn'
    if (isNew && shown) for (const event of toTurnEvents(shown)) show(event)
    if (item.seq < last || fold.status === 'running') continue
    last = (await client.getState(session)).lastEvent
    if (last <= item.seq) return
  }
}

function toTurnEvents(shown: Shown): TurnEvent[] {
  if (shown.type === 'turn') return [{ event: 'text', text: `› ${joinText(shown.turn.parts)}` }]
  if (shown.type === 'result')
    return [{ event: 'tool_result', toolCallId: shown.callId, content: joinText(shown.outcome.parts) }]
  if (shown.type !== 'answer') return []
  const text = joinText(shown.answer.parts)
  const calls = shown.calls.map(
    ({ part }): TurnEvent => ({ event: 'tool_call', toolCallId: part.id, name: part.name, input: {} }),
  )
  return [...(text === '' ? [] : [{ event: 'text' as const, text }]), ...calls]
}
