// The routes of the operator API about people and programs outside: webhooks and their messages, and links for approvers.
import { randomUUID } from 'node:crypto'
import type { Hono } from 'hono'
import type { SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Recorded } from '../../language/events.ts'
import { ShownFold } from '../../language/show.ts'
import type { ApprovalLink } from '../../language/webhooks.ts'
import { names } from '../../lib/json/fields.ts'
import type { Json } from '../../lib/json/index.ts'
import { present } from '../../lib/json/present.ts'
import { approvalLink, revokedMark } from '../approval-link.ts'
import type { WireEnv } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { type C, findForOperator, requireOperator, type Served } from './access.ts'
import type { WebhookBackend } from './backend.ts'
import { count, onlyKnown, optional, text, wholeNumber } from './decode.ts'

const mostRows = 200

export function notifyRoutes(app: Hono<WireEnv>, served: Served): void {
  webhookRoutes(app, served)
  const { host } = served
  app.post('/operator/sessions/:id/calls/:call/links', async c => {
    const ref = await findForOperator(c)
    const body = await readJsonObject(c, host.limits)
    onlyKnown(body, names('approver roles forMs'), '')
    const forMs = optional(body['forMs'], 'forMs', count)
    const roles = optional(body['roles'], 'roles', readRoles)
    const approver = text(body['approver'], 'approver', { max: 200 })
    const wish = { approver, ...present({ roles, forMs }) }
    return sendJson(c, await makeLink(c, ref, wish, served), 201)
  })
  // Of one link by its id, or of all links of a call by the call's.
  app.delete('/operator/sessions/:id/links/:link', async c => {
    const ref = await findForOperator(c)
    const { name } = c.get('principal')
    const mark = { name: revokedMark(c.req.param('link')), text: `Revoked by ${name}.` }
    await c.get('engine').command(ref, { do: 'keep', ...mark })
    return c.body(null, 204)
  })
}

function webhookRoutes(app: Hono<WireEnv>, { backend }: Served): void {
  const webhooks = (c: C): WebhookBackend => {
    requireOperator(c)
    if (backend.webhooks) return backend.webhooks
    throw new TurnwireError('not_found', 'The store of this server keeps no messages of webhooks.')
  }
  app.get('/operator/webhooks', async c => sendJson(c, { webhooks: await webhooks(c).list() }))
  app.get('/operator/webhooks/:name/deliveries', async c => {
    const after = c.req.query('after')
    const limit = wholeNumber(c.req.query('limit') ?? '50', 'limit', 1, mostRows)
    const page = { limit, ...(after !== undefined && { after }) }
    return sendJson(c, await webhooks(c).deliveries(c.req.param('name'), page))
  })
  app.post('/operator/webhooks/:name/deliveries/:delivery/resend', async c =>
    sendJson(c, await webhooks(c).resend(c.req.param('name'), c.req.param('delivery'))),
  )
  app.post('/operator/webhooks/:name/enable', async c => {
    await webhooks(c).enable(c.req.param('name'))
    return c.body(null, 204)
  })
  app.get('/operator/webhooks/:name/secret', c =>
    sendJson(c, { secret: webhooks(c).secret(c.req.param('name')) }),
  )
}

/** Log that is searched for the event that asks. */
const searchedBytes = 1024 * 1024

async function makeLink(
  c: C,
  ref: SessionRef,
  wish: { approver: string; roles?: string[]; forMs?: number },
  { host, backend }: Served,
): Promise<ApprovalLink> {
  const callId = c.req.param('call') ?? ''
  const engine = c.get('engine')
  const { seq: last, agent, calls } = await engine.summary(ref)
  const call = calls.find(({ part, stage }) => part.id === callId && stage === 'asking')
  const seq = shownAt(await engine.events(ref, Math.max(0, last - 500), searchedBytes), callId)
  if (!call || seq === undefined)
    throw new TurnwireError('not_found', 'No call of this id waits for an approval here.')
  const { argsHash, toolHash, expiresAt } = call
  const asked = {
    type: 'approval.requested' as const,
    at: Date.now(),
    ...ref,
    agent,
    seq,
    call: callId,
    ...present({ argsHash, toolHash, expiresAt }),
  }
  const id = `lnk_${randomUUID()}`
  const link = approvalLink(backend.address(), asked, { ...wish, id }, text => host.sign(text))
  if (link) return link
  throw new TurnwireError('bad_request', 'This server does not know its own address. Set server.publicUrl.')
}

/** The event by which people were last shown what a call would do. */
function shownAt(log: readonly Recorded[], callId: string): number | undefined {
  const fold = new ShownFold()
  let found: number | undefined
  for (const { event, seq } of log) {
    const shown = fold.take(event)
    const isShown = shown?.type === 'edited' || (shown?.type === 'waits' && shown.for === 'permission')
    if (isShown && shown.callId === callId) found = seq
  }
  return found
}

function readRoles(given: Json, path: string): string[] {
  if (Array.isArray(given) && given.every(role => typeof role === 'string')) return given
  throw new TurnwireError('bad_request', `"${path}" must be a list of roles.`)
}
