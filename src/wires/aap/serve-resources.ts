// Resources and prompts of the tool servers of a session's agent, to attach to messages or to start from. An extension
// of ours to the protocol; it gives content that a turn takes.
import type { Context, Hono } from 'hono'
import { isJsonObject } from '../../lib/json/index.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { encodeParts } from './encode.ts'
import { refuseAap } from './wordings.ts'

export function mountResources(
  app: Hono<WireEnv>,
  base: string,
  host: WireHost,
  refOf: (c: Context<WireEnv>) => { owner: string; session: string },
): void {
  const { limits } = host
  const findAgent = async (c: Context<WireEnv>): Promise<string> =>
    (await c.get('engine').summary(refOf(c))).agent
  app.get(`${base}/sessions/:id/resources`, async c =>
    sendJson(c, { resources: await c.get('engine').fromServers(await findAgent(c), { get: 'resources' }) }),
  )
  app.post(`${base}/sessions/:id/resources`, async c => {
    const agent = await findAgent(c)
    const body = await readJsonObject(c, limits)
    const resource = { server: textIn(body, 'server'), uri: textIn(body, 'uri') }
    return sendJson(c, {
      content: encodeParts(await c.get('engine').fromServers(agent, { get: 'resource', ...resource })),
    })
  })
  app.get(`${base}/sessions/:id/prompts`, async c =>
    sendJson(c, { prompts: await c.get('engine').fromServers(await findAgent(c), { get: 'prompts' }) }),
  )
  app.post(`${base}/sessions/:id/prompts`, async c => {
    const agent = await findAgent(c)
    const body = await readJsonObject(c, limits)
    const given = isJsonObject(body['arguments']) ? body['arguments'] : {}
    const values = Object.fromEntries(Object.keys(given).map(name => [name, textIn(given, name)]))
    const prompt = { server: textIn(body, 'server'), name: textIn(body, 'name'), values }
    const messages = await c.get('engine').fromServers(agent, { get: 'prompt', ...prompt })
    return sendJson(c, {
      messages: messages.map(({ role, parts }) => ({ role, content: encodeParts(parts) })),
    })
  })
}

function textIn(body: object, name: string): string {
  const value: unknown = Object.hasOwn(body, name) ? Reflect.get(body, name) : undefined
  return typeof value === 'string' ? value : refuseAap(`${name} must be a text.`)
}
