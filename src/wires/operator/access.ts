// Who reaches what in the operator API, for the files of its routes.
import type { Context } from 'hono'
import type { SessionRef } from '../../engine/index.ts'
import { sessionNotFound } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'
import type { OperatorBackend } from './backend.ts'
import { needsOperator } from './decode.ts'

export type C = Context<WireEnv>
export type Served = { host: WireHost; backend: OperatorBackend }

export function requireOperator(c: C): void {
  if (!c.get('principal').operator) throw needsOperator()
}

/** The session of the address. To a caller who may not see it, it does not exist. */
export async function findSessionRef(c: C, session = c.req.param('id') ?? ''): Promise<SessionRef> {
  const owner = await c.get('engine').lookUp({ get: 'owner', session })
  if (owner === undefined) throw sessionNotFound()
  return { owner, session }
}

/** For operators alone. A session that the caller may not see is not found; only then does the scope of the key count. */
export async function findForOperator(c: C): Promise<SessionRef> {
  const ref = await findSessionRef(c)
  requireOperator(c)
  return ref
}
