// The list of agents and models, in OpenAI's form. The wires of other vendors answer their clients before a request comes here.
import type { Hono } from 'hono'
import type { WireEnv, WireHost } from '../host.ts'
import { sendJson } from '../http/index.ts'
import { adviceFor, findTarget, targetNames } from '../stateless/index.ts'
import { noSuchModel } from './wordings.ts'

export function mountModels(app: Hono<WireEnv>, { about }: WireHost): void {
  const created = Math.floor(Date.now() / 1000)
  const describe = (id: string): object => ({ id, object: 'model', created, owned_by: 'turnwire' })
  const names = targetNames(about)
  app.get('/v1/models', c => sendJson(c, { object: 'list', data: names.map(describe) }))
  app.get('/v1/models/:id', c => {
    const id = c.req.param('id')
    if (!findTarget(about, id)) throw noSuchModel(id, adviceFor(about))
    return sendJson(c, describe(id))
  })
}
