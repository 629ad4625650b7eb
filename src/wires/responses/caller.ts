// The caller of a request or connection, with the engine that is bound to it and the host.
import type { Context } from 'hono'
import type { Engine } from '../../engine/index.ts'
import type { Principal, WireEnv, WireHost } from '../host.ts'

export type ResponsesCaller = Pick<Principal, 'owner' | 'name'> & { host: WireHost; engine: Engine }

export function readCaller(c: Context<WireEnv>, host: WireHost): ResponsesCaller {
  const { owner, name } = c.get('principal')
  return { host, engine: c.get('engine'), owner, name }
}
