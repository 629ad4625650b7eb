// The routes of the operator API. A caller with the operator scope sees the sessions of every owner. A caller with another key
// sees its own, and does with them what the protocols for applications allow. Wallets are refused.
import { Hono, type MiddlewareHandler } from 'hono'
import { readReceipt } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isWallet } from '../../language/payments.ts'
import { names } from '../../lib/json/fields.ts'
import { agentNamed, type WireEnv, type WireHost } from '../host.ts'
import { lastEventId, readJsonObject, sendJson, streamJson } from '../http/index.ts'
import { streamItems } from '../http/stream.ts'
import { type C, findForOperator, findSessionRef, requireOperator, type Served } from './access.ts'
import { waitingApprovals } from './approvals.ts'
import type { OperatorBackend } from './backend.ts'
import {
  decodeActivity,
  decodeCommand,
  decodeCreate,
  decodeFork,
  decodeJudge,
  decodeList,
  flag,
  onlyKnown,
  optional,
  text,
  wholeNumber,
  wireName,
} from './decode.ts'
import { changesEncoder, encodeAgents, encodeEvent, encodeSession, followEncoder } from './encode.ts'
import { forkedHistory, taskAsAttached } from './fork.ts'
import { listSessions } from './list.ts'
import { describePolicies, mostDays, PolicyCounts } from './policy.ts'
import type { CommandAccepted, OperatorMe, OperatorPolicy } from './schema.ts'
import { notifyRoutes } from './serve-notify.ts'
import { signOutRoute } from './serve-sign-in.ts'
import { tryRoutes } from './serve-try.ts'

const KiB = 1024

export function operatorRoutes(host: WireHost, backend: OperatorBackend): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const served = { host, backend }
  app.use('/operator/*', refuseWallets)
  app.get('/operator/me', c => sendJson(c, me(c, backend)))
  app.get('/operator/agents', c => sendJson(c, encodeAgents(host.about, c.get('principal'))))
  app.get('/operator/sessions', c => serveList(c, host))
  app.post('/operator/sessions', c => serveCreate(c, host))
  app.get('/operator/changes', c => serveChanges(c, host))
  app.get('/operator/approvals', async c =>
    sendJson(
      c,
      await waitingApprovals(c.get('engine'), host.about.agents, ownerFilter(c), c.get('principal')),
    ),
  )
  app.get('/operator/sessions/:id', async c =>
    sendJson(c, encodeSession(await c.get('engine').summary(await findSessionRef(c)))),
  )
  app.delete('/operator/sessions/:id', async c => {
    await c.get('engine').remove(await findSessionRef(c))
    return c.body(null, 204)
  })
  app.get('/operator/sessions/:id/events', c => serveEvents(c))
  app.get('/operator/sessions/:id/follow', c => serveFollow(c, host))
  app.get('/operator/sessions/:id/export', c => serveExport(c, host))
  app.get('/operator/sessions/:id/request', c => serveRequest(c, backend))
  app.get('/operator/sessions/:id/blobs/:name', async c =>
    sendJson(c, {
      text: await c.get('engine').blob(await findSessionRef(c), { get: 'text', name: c.req.param('name') }),
    }),
  )
  app.get('/operator/sessions/:id/receipts/:call', async c =>
    sendJson(
      c,
      await readReceipt(
        c.get('engine'),
        await findSessionRef(c),
        c.req.param('call'),
        c.req.query('salts') === 'true',
      ),
    ),
  )
  app.post('/operator/sessions/:id/commands', c => serveCommand(c, host))
  app.post('/operator/sessions/:id/fork', c => serveFork(c, host))
  systemRoutes(app, served)
  policyRoutes(app, served)
  notifyRoutes(app, served)
  tryRoutes(app, served)
  return app
}

function systemRoutes(app: Hono<WireEnv>, { host, backend }: Served): void {
  app.get('/operator/system', c => {
    requireOperator(c)
    return sendJson(c, backend.system())
  })
  app.get('/operator/activity', async c => {
    requireOperator(c)
    const query = decodeActivity(field => c.req.query(field), Date.now())
    const report = await c.get('engine').lookUp({ get: 'activity', owner: null, ...query })
    if (report) return sendJson(c, report)
    throw new TurnwireError('not_found', 'The store of this server keeps no index, so nothing is counted.')
  })
  app.get('/operator/keys', c => {
    requireOperator(c)
    return sendJson(c, { keys: backend.keys.list() })
  })
  app.post('/operator/keys', async c => {
    requireOperator(c)
    const body = await readJsonObject(c, host.limits)
    onlyKnown(body, names('name operator'), '')
    const called = text(body['name'], 'name')
    const key = backend.keys.add(called, optional(body['operator'], 'operator', flag) ?? false)
    return sendJson(c, { name: called, key }, 201)
  })
  app.delete('/operator/keys/:name', c => {
    requireOperator(c)
    if (!backend.keys.remove(c.req.param('name')))
      throw new TurnwireError('not_found', 'There is no key of this name in the data folder.')
    return c.body(null, 204)
  })
  signOutRoute(app, backend)
}

function policyRoutes(app: Hono<WireEnv>, { host, backend }: Served): void {
  const counts = new PolicyCounts()
  app.get('/operator/policy', async c => {
    requireOperator(c)
    const days = wholeNumber(c.req.query('days') || '7', 'days', 1, mostDays)
    const file = backend.rulesFile()
    const counted = await counts.count(c.get('engine'), Date.now() - days * 86_400_000)
    const answer: OperatorPolicy = { agents: describePolicies(host.about), ...(file && { file }), ...counted }
    return sendJson(c, answer)
  })
  app.post('/operator/policy/judge', async c => {
    requireOperator(c)
    const call = decodeJudge(await readJsonObject(c, host.limits))
    const { session } = call
    const ref = session === undefined ? undefined : await findSessionRef(c, session)
    const summary = ref && (await c.get('engine').summary(ref))
    const agent = call.agent ?? summary?.agent ?? host.about.agents[0]?.name ?? ''
    const owner = summary?.owner ?? call.owner ?? c.get('principal').owner
    const { name } = agentNamed(host, agent)
    const { tool, input } = call
    const asked = { agent: name, owner, tool, input, ...(session !== undefined && { session }) }
    return sendJson(c, await backend.judge(c.get('engine'), asked))
  })
}

// ---- who is asking -----------------------------------------------------------------------------------------

function me(c: C, backend: OperatorBackend): OperatorMe {
  const { owner, name, operator = false, roles } = c.get('principal')
  return {
    name,
    ...(roles && { roles }),
    owner,
    operator,
    open: backend.isOpen(),
    version: backend.version,
    features: backend.features,
  }
}

/** Wallets are refused: anyone can make one for free, and a wallet may see no more of the server than its prices. */
const refuseWallets: MiddlewareHandler<WireEnv> = (c, next) => {
  if (isWallet(c.get('principal').owner))
    throw new TurnwireError('forbidden', 'The operator API is not for wallets. It needs a key.')
  return next()
}

/** Null: of all owners. */
function ownerFilter(c: C, asked?: string): string | null {
  const { owner, operator } = c.get('principal')
  return operator ? (asked ?? null) : owner
}

// ---- lists -------------------------------------------------------------------------------------------------

async function serveList(c: C, { about }: WireHost): Promise<Response> {
  const query = decodeList(field => c.req.query(field))
  const owner = ownerFilter(c, query.owner)
  return sendJson(c, await listSessions(c.get('engine'), { about, caller: c.get('principal') }, owner, query))
}

function serveChanges(c: C, host: WireHost): Response {
  return streamItems(c, host, signal => c.get('engine').changes(signal), changesEncoder(host.about.agents))
}

// ---- one session -------------------------------------------------------------------------------------------

async function serveCreate(c: C, host: WireHost): Promise<Response> {
  const request = decodeCreate(await readJsonObject(c, host.limits))
  const owner = ownerFilter(c, request.owner) ?? c.get('principal').owner
  const { model, tools } = request
  const { session } = await c.get('engine').create({
    owner,
    agent: agentNamed(host, request.agent).name,
    wire: wireName,
    settings: { tools: null, options: {}, clientTools: tools, ...(model !== undefined && { model }) },
    seed: [],
  })
  return sendJson(c, { id: session }, 201)
}

async function serveEvents(c: C): Promise<Response> {
  const ref = await findSessionRef(c)
  const after = wholeNumber(c.req.query('after') || '0', 'after', 0, Number.MAX_SAFE_INTEGER)
  const bytes = wholeNumber(c.req.query('bytes') || `${256 * KiB}`, 'bytes', 1, 1024 * KiB)
  const page = await c.get('engine').events(ref, after, bytes)
  const events = page.map(each => ({ ...each, event: encodeEvent(each.event, c.get('principal')) }))
  const { seq } = await c.get('engine').summary(ref)
  return sendJson(c, { events, end: (events.at(-1)?.seq ?? after) >= seq })
}

async function serveFollow(c: C, host: WireHost): Promise<Response> {
  const ref = await findSessionRef(c)
  const after = lastEventId(c)
  if (after === undefined) throw new TurnwireError('bad_request', 'Last-Event-ID must be a whole number.')
  const options = { from: after + 1, until: 'never', deltas: 'raw' } as const
  const encoder = followEncoder(c.get('principal'))
  return streamItems(c, host, signal => c.get('engine').follow(ref, options, signal), encoder)
}

async function serveExport(c: C, host: WireHost): Promise<Response> {
  const ref = await findSessionRef(c)
  const caller = c.get('principal')
  async function* lines(): AsyncGenerator<string> {
    for (let after = 0; ; ) {
      const page = await c.get('engine').events(ref, after, 256 * KiB)
      if (page.length === 0) return
      const shown = page.map(each => ({ ...each, event: encodeEvent(each.event, caller) }))
      yield shown.map(recorded => `${JSON.stringify(recorded)}\n`).join('')
      after = page.at(-1)!.seq
    }
  }
  // Two pages: the one that is sent and the one that is read.
  return streamJson(c, host, lines(), { bytes: 512 * KiB }, 'application/x-ndjson')
}

async function serveRequest(c: C, backend: OperatorBackend): Promise<Response> {
  // It has the instructions of the agent.
  const ref = await findForOperator(c)
  const protocol = c.req.query('protocol') ?? ''
  const request = await c.get('engine').history(ref, { get: 'request' })
  return sendJson(c, { protocol, ...(await backend.prepare(request, protocol)) })
}

async function serveCommand(c: C, host: WireHost): Promise<Response> {
  const ref = await findSessionRef(c)
  const command = decodeCommand(await readJsonObject(c, host.limits), c.get('principal'))
  const { first, count, turn, grant, message, found } = await c.get('engine').command(ref, command)
  const more = {
    ...(turn && { turn }),
    ...(grant && { grant }),
    ...(message && { message }),
    ...(found && { found }),
  }
  const accepted: CommandAccepted = { first, count, ...more }
  return sendJson(c, accepted)
}

async function serveFork(c: C, host: WireHost): Promise<Response> {
  const ref = await findSessionRef(c)
  const { upTo, agent, model, text: said, results } = decodeFork(await readJsonObject(c, host.limits))
  const summary = await c.get('engine').summary(ref)
  const seq = upTo ?? summary.seq
  if (seq > summary.seq)
    throw new TurnwireError('bad_request', `"upTo" must be a whole number from 1 to ${summary.seq}.`)
  const history = await c.get('engine').history(ref, { get: 'entries', upTo: seq })
  const entries = forkedHistory(history, results)
  const { options: _secret, ...settings } = summary.settings
  const { session } = await c.get('engine').create({
    owner: ref.owner,
    agent: agentNamed(host, agent ?? summary.agent).name,
    wire: wireName,
    settings: {
      ...settings,
      options: {},
      wires: { [wireName]: { forkedFrom: { session: ref.session, seq } } },
      ...(model !== undefined && { model }),
    },
    seed: summary.parent ? taskAsAttached(entries) : entries,
  })
  if (said !== undefined)
    await c
      .get('engine')
      .command(
        { owner: ref.owner, session },
        { do: 'say', wire: wireName, parts: [{ type: 'text', text: said }] },
      )
  return sendJson(c, { id: session }, 201)
}
