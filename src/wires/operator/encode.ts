// Encodes the answers of the operator API: rows of lists, sessions, and the frames of its streams. Pure.

import type {
  AgentInfo,
  EngineDescription,
  FollowItem,
  ListedSession,
  PlainError,
  SessionChange,
  SessionSummary,
} from '../../engine/index.ts'
import type { Event, Settings } from '../../language/events.ts'
import { isJsonObject } from '../../lib/json/index.ts'
import { present } from '../../lib/json/present.ts'
import type { Principal } from '../host.ts'
import { sseFrame } from '../http/index.ts'
import type { FrameEncoder } from '../http/stream.ts'
import { publicEvent } from '../public-event.ts'
import { wireName } from './decode.ts'
import type { OperatorAgents, OperatorSession, OperatorSessionState } from './schema.ts'

/** Without the operator scope: only the facts that applications get from their protocols, so that a page can work. */
export function encodeAgents(about: EngineDescription, { operator }: Principal): OperatorAgents {
  if (operator) return about
  return {
    agents: about.agents.map(({ system: _system, policy: _policy, tools, ...shown }) => ({
      ...shown,
      tools: tools.flatMap(({ folder: _folder, ...tool }) =>
        tool.exposed && tool.trust !== 'deny' ? [tool] : [],
      ),
    })),
    models: about.models,
  }
}

/** The facts about agents that rows of sessions need. */
type Agents = readonly Pick<AgentInfo, 'name' | 'model'>[]

/** The name of the model that the session uses: the one of its settings, or else its agent's own, if that has a name. */
export function sessionModel({ agent, summary }: ListedSession, agents: Agents): string | undefined {
  return summary.settings.model ?? agents.find(({ name }) => name === agent)?.model.name
}

export function encodeRow(row: ListedSession, agents: Agents): OperatorSession {
  const { facts, summary } = row
  return {
    id: row.id,
    owner: row.owner,
    agent: row.agent,
    status: row.status,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    events: row.head,
    bytes: row.bytes + row.blobBytes,
    tokens: facts?.tokens ?? 0,
    ...present({
      model: sessionModel(row, agents),
      wire: summary.wire,
      opening: summary.opening,
      cost: facts?.cost,
      waits: row.status === 'waiting' ? facts?.waits : undefined,
      stop: row.status === 'idle' ? facts?.stop : undefined,
      leftAlone: row.leftAlone ? true : undefined,
      forkedFrom: forkSource(summary.settings),
    }),
  }
}

function forkSource({ wires }: Settings): OperatorSession['forkedFrom'] {
  const note = wires?.[wireName]?.['forkedFrom']
  if (note === undefined || !isJsonObject(note)) return undefined
  const { session, seq } = note
  return typeof session === 'string' && typeof seq === 'number' ? { session, seq } : undefined
}

export function encodeSession(summary: SessionSummary): OperatorSessionState {
  const { known: _known, entries, ...shown } = summary
  return {
    ...shown,
    events: summary.seq,
    messages: entries,
    ...present({ model: summary.settings.model, forkedFrom: forkSource(summary.settings) }),
  }
}

const statusWords = { running: 'running', waiting: 'waiting', ended: 'idle' } as const

const encodeLost = ({ code, message }: PlainError): string => sseFrame('lost', { code, error: message })

export function encodeEvent(event: Event, { operator }: Principal): Event {
  return operator ? event : publicEvent(event)
}

export function followEncoder(caller: Principal): FrameEncoder<FollowItem> {
  return {
    take(item) {
      switch (item.type) {
        case 'event':
          return sseFrame('event', { seq: item.seq, event: encodeEvent(item.event, caller) }, item.seq)
        case 'delta':
          return sseFrame('delta', item.delta)
        case 'lost':
          return encodeLost(item.error)
        default:
          return sseFrame('status', { status: statusWords[item.type] })
      }
    },
    fail: encodeLost,
  }
}

export function changesEncoder(agents: Agents): FrameEncoder<SessionChange> {
  return {
    begin: () => sseFrame('open', {}),
    take: change =>
      change.type === 'removed'
        ? sseFrame('removed', { id: change.session })
        : sseFrame('session', encodeRow(change.row, agents)),
    fail: encodeLost,
  }
}
