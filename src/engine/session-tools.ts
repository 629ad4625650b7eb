// What a running tool may know of its session's other tools: those that the session could call. Being named here permits
// nothing: each call passes the gate.
import type { SessionTools } from './ports.ts'
import type { Session } from './session.ts'

export function sessionTools(session: Session): SessionTools {
  const isCallable = (name: string): boolean => {
    const offered = session.offer.byName.get(name)
    return offered !== undefined && !session.denies(offered)
  }
  return {
    get shared() {
      return session.agent.tools
    },
    find: name => (isCallable(name) ? session.offer.byName.get(name)?.tool : undefined),
    list: () => session.offer.declarations.filter(({ name }) => isCallable(name)),
  }
}
