// What a policy engine is told of a call, as plain data, and how its answers are held. The same for every engine, so that two of them
// can be compared. Each engine is one file beside this one; nothing here imports one.
import type { Question } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { EarlierCall, VerdictWord } from '../../language/policy.ts'
import type { ToolKind } from '../../language/tools.ts'
import { sha256 } from '../../lib/json/hash.ts'
import type { Json } from '../../lib/json/index.ts'
import type { Decider } from '../rules.ts'

/** `called`, `ok`: names of tools that were called before, and of those that ended well. */
type Before = { called: string[]; ok: string[] }

export type PolicyFacts = {
  tool: { name: string; kind: ToolKind; readOnly: boolean; destructive: boolean }
  agent: string
  owner: string
  session: string
  /** Who asked for the turn. */
  requesters: string[]
  trust: string
  /** Absent: the agent has no flow control, or the call only reads. */
  warranted?: boolean
  turn: Before
  earlier: Before
  input: Json
}

export function readFacts(question: Question): PolicyFacts {
  const { tool, agent, owner, session, requesters, trust, flow, history, input } = question
  const { name, kind, readOnly, destructive } = tool
  return {
    tool: { name, kind, readOnly, destructive },
    agent,
    owner,
    session,
    requesters: [...(requesters ?? [owner])],
    trust,
    ...(flow && { warranted: flow.warranted }),
    turn: namesIn(history.turn),
    earlier: namesIn(history.session),
    input,
  }
}

function namesIn(calls: readonly EarlierCall[]): Before {
  const ended = calls.filter(({ outcome }) => outcome === 'ok')
  const names = (list: readonly EarlierCall[]): string[] => [...new Set(list.map(({ tool }) => tool))]
  return { called: names(calls), ok: names(ended) }
}

/** What is decided where no policy speaks: a verdict, or `next` for the rule after this one. */
export type Otherwise = VerdictWord | 'next'

/** `said`: everything that the verdicts depend on, for the version of the rules. */
export function makeDecider(
  decide: (question: Question) => ReturnType<Decider>,
  said: readonly string[],
): Decider {
  return Object.assign(decide, { version: sha256(JSON.stringify(said)) })
}

/** Of an optional peer. */
export async function loadEngine<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    throw new TurnwireError(
      'config_invalid',
      `This policy needs the package ${name}. Install it: npm i ${name}`,
      {
        cause,
      },
    )
  }
}
