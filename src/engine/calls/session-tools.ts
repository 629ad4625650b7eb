// The tools of a session: what its model is declared, and what a running tool may know of the others. Being named here
// permits nothing: each call passes the gate.

import type { ToolDeclaration } from '../../language/tools.ts'
import type { SessionTools } from '../ports/index.ts'
import { type Declared, declaredOf, searchOf } from '../rules/loaded.ts'
import type { Offered } from '../rules/offer.ts'
import type { CallSession } from './call-session.ts'

/** What the model is declared of the offer. */
export function declaredFor(session: CallSession): Declared {
  const declared = declaredToModel(session)
  const { agent, state, offer } = session
  if (!offer.callable.some(isForPrograms) || !agent.model(state.settings).programs) return declared
  return { ...declared, tools: [...declared.tools, ...offer.callable.filter(isForPrograms)] }
}

/** A model whose vendor runs programs is told of it, and may not call it itself. */
function isForPrograms({ callers }: ToolDeclaration): boolean {
  return callers !== undefined && !callers.includes('model')
}

function declaredToModel(session: CallSession): Declared {
  const { agent, state, offer } = session
  if (offer.deferred.length === 0) return { tools: offer.declarations }
  return declaredOf(offer, {
    ...searchOf(agent, state.turn?.ask, agent.model(state.settings)),
    loaded: state.loaded,
    isDenied: offered => isDenied(session, offered),
  })
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
