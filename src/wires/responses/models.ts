// The list of agents and models, in the form of the client that asks: Anthropic's clients name their version in a header,
// all others get OpenAI's form.
import type { Context, Hono } from 'hono'
import type { JsonObject } from '../../lib/json.ts'
import { excerpt } from '../fields.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { sendJson } from '../http/index.ts'
import { findTarget, targetNames } from '../stateless/index.ts'
import { noSuchModel } from './wordings.ts'

export function mountModels(app: Hono<WireEnv>, { about }: WireHost): void {
  const since = Date.now()
  const names = targetNames(about)
  const openAi = (id: string): JsonObject => {
    const created = Math.floor(since / 1000)
    return { id, object: 'model', created, owned_by: 'turnwire' }
  }
  const anthropic = (id: string): JsonObject => {
    const target = findTarget(about, id)
    const { contextTokens = null } = target?.model ?? {}
    return {
      type: 'model',
      id,
      display_name: (target?.agent.name === id && target.agent.title) || id,
      created_at: new Date(since).toISOString(),
      max_input_tokens: contextTokens,
      max_tokens: null,
      capabilities: null,
    }
  }
  app.get('/v1/models', c => {
    if (!isAnthropic(c)) return sendJson(c, { object: 'list', data: names.map(openAi) })
    const { data, has_more } = anthropicPage(names, c.req.query())
    const [first_id, last_id] = [data[0] ?? null, data.at(-1) ?? null]
    return sendJson(c, { data: data.map(anthropic), has_more, first_id, last_id })
  })
  app.get('/v1/models/:id', c => {
    const id = c.req.param('id')
    const isKnown = findTarget(about, id) !== undefined
    if (isAnthropic(c)) return isKnown ? sendJson(c, anthropic(id)) : sendNoSuch(c, id)
    if (!isKnown) throw noSuchModel(id)
    return sendJson(c, openAi(id))
  })
}

function isAnthropic(c: Context<WireEnv>): boolean {
  return c.req.header('anthropic-version') !== undefined
}

function sendNoSuch(c: Context<WireEnv>, id: string): Response {
  const error = { type: 'not_found_error', message: `model: ${excerpt(id)}` }
  return sendJson(c, { type: 'error', error }, 404)
}

/** A page after or before a model. One that is not in the list counts as the beginning or the end of it. */
function anthropicPage(
  names: readonly string[],
  { limit = '20', after_id, before_id }: Record<string, string>,
): { data: readonly string[]; has_more: boolean } {
  const most = /^[1-9]\d{0,3}$/.test(limit) ? Math.min(Number(limit), 1000) : 20
  if (before_id !== undefined) {
    const end = names.includes(before_id) ? names.indexOf(before_id) : names.length
    return { data: names.slice(Math.max(0, end - most), end), has_more: end > most }
  }
  const start = after_id === undefined ? 0 : names.indexOf(after_id) + 1
  return { data: names.slice(start, start + most), has_more: start + most < names.length }
}
