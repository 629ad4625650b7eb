// The folds of messages that wait for their delivery. A part of evolve.ts, with the same rules.
import type { MessageQueued } from '../../language/events.ts'
import type { SessionState, WaitingMessage } from './state.ts'

/** So many messages that wait no longer are remembered, the newest. A session for life may have any number. */
const mostHeard = 1000

export function queueMessage(state: SessionState, event: MessageQueued): void {
  const { v: _v, type: _type, message: id, key, ...rest } = event
  const waiting: WaitingMessage = { id, ...rest }
  state.messages = [...(state.messages ?? []), waiting]
  const request = key === undefined ? undefined : state.requests.get(key)
  if (request) request.message = id
}

/** It waits no longer. Gives it. */
export function takeMessage(
  state: SessionState,
  id: string,
  as: 'delivered' | 'withdrawn',
): WaitingMessage | undefined {
  const taken = state.messages?.find(message => message.id === id)
  state.heard ??= {}
  state.heard[id] = as
  const [oldest, ...others] = Object.keys(state.heard)
  if (oldest !== undefined && others.length >= mostHeard) delete state.heard[oldest]
  const left = state.messages?.filter(message => message.id !== id) ?? []
  if (left.length > 0) state.messages = left
  else delete state.messages
  return taken
}
