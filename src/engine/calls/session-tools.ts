// The tools of a session: the declarations for its model, and the list that a running tool is given. Being listed here
// permits nothing: each call passes the gate.

import type { SessionTools } from '../ports/index.ts'
import { chooseDeclared, chooseSearch, type Declared } from '../rules/loaded.ts'
import type { Offered } from '../rules/offer.ts'
import type { CallSession } from './call-session.ts'

/** The tools of the offer that the model is declared. */
export function declaredFor(session: CallSession): Declared {
  const { agent, state, offer } = session
  const declared: Declared =
    offer.deferred.length === 0
      ? { tools: offer.declarations }
      : chooseDeclared(offer, {
          ...chooseSearch(agent, state.turn?.ask, agent.model(state.settings)),
          loaded: state.loaded,
          isDenied: offered => isDenied(session, offered),
        })
  // A model whose vendor runs programs is told of the tools that only they may call.
  const { forPrograms } = offer
  if (forPrograms.length === 0 || !agent.model(state.settings).programs) return declared
  return { ...declared, tools: [...declared.tools, ...forPrograms] }
}

/** Every call of this tool would be denied, whatever its arguments. */
export function isDenied({ agent, state, ports }: CallSession, offered: Offered): boolean {
  if (offered.side === 'client' || !agent.gate.denies) return false
  const { tool, clientTrust } = offered
  return agent.gate.denies({
    session: state.id,
    owner: state.owner,
    agent: agent.name,
    tool,
    trust: tool.trust,
    ...(tool.changed !== undefined && { changed: tool.changed }),
    ...(clientTrust !== undefined && { clientTrust }),
    grants: [...state.grants.values()],
    now: ports.world.now(),
  })
}

export function sessionTools(session: CallSession): SessionTools {
  return {
    get shared() {
      return session.agent.tools
    },
    find(name) {
      const offered = session.offer.byName.get(name)
      return offered && !isDenied(session, offered) ? offered.tool : undefined
    },
  }
}
