// Stands in for an agent that is no longer configured, so that its sessions can still be read, cancelled and deleted. It
// offers no tools, and its model fails with the reason.
import { TurnwireError } from '../../language/errors.ts'
import type { Agent, EnginePorts, Finished } from '../ports/index.ts'
import { said } from './outcomes.ts'

/** The agent of this name as sessions of this owner have it. */
export function agentFor({ agent }: Pick<EnginePorts, 'agent'>, name: string, owner: string): Agent {
  const found = agent(name)
  return found ? (found.forOwner?.(owner) ?? found) : goneAgent(name)
}

export function goneAgent(name: string): Agent {
  const words = `The agent "${name}" of this session is no longer configured.`
  const gone = (): Finished => ({ outcome: said('error', words) })
  return {
    name,
    version: '0.0.0',
    tools: [],
    options: [],
    gate: {
      admit: () => ({ ok: false, reason: words }),
      authorise: () => ({ verdict: 'deny', rule: 'gone-agent', reason: words }),
      finish: gone,
      live: () => undefined,
      report: () => ({}),
      finishClient: gone,
    },
    limits: {
      steps: 1,
      calls: 1,
      identicalCalls: 1,
      time: 60_000,
      bytes: 1,
      tokens: 1,
      money: 1,
      sessionBytes: 1e15,
    },
    choice: 'none',
    parallel: false,
    clientTools: true,
    fullHistory: false,
    images: { http: false, data: false },
    model() {
      throw new TurnwireError('unknown_agent', words)
    },
  }
}
