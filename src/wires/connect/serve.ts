// The pages on which a person connects an account, and the routes with which an owner lists and ends connections. The address of
// the page is the permission to begin, so no key is needed; the browser that begins gets a cookie, and only it can finish.
import { type Context, Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { serverCaller } from '../../callers/caller.ts'
import { publicError, TurnwireError } from '../../language/errors.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readCookie, readForm, sendJson, writeCookie } from '../http/index.ts'
import { sendPage } from '../http/page.ts'
import type { ConnectBackend } from './backend.ts'
import { connectPage, type Page, problemPage } from './page.ts'
import { type ConnectFacts, connectAddress, connectPath, readConnectToken, returnPath } from './token.ts'
import { answerWaiting, stillAsks } from './waiting.ts'

type C = Context<WireEnv>

const cookieName = 'turnwire_connect'
const cookieS = 15 * 60
const formBytes = 1024
/** Of an address that no call waits for. */
const addressMs = 15 * 60_000

export function pageRoutes(host: WireHost, backend: ConnectBackend): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.get(returnPath, c => answer(c, () => finish(c, host, backend)))
  app.get(`${connectPath}/:token`, c => answer(c, async () => (await show(c, host, backend)).page))
  app.post(`${connectPath}/:token`, c => answer(c, () => begin(c, host, backend)))
  return app
}

export function connectionRoutes(host: WireHost, backend: ConnectBackend): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.get('/operator/connections', async c => {
    const { owner, operator } = c.get('principal')
    const connections = await backend.list(operator ? undefined : owner)
    return sendJson(c, { servers: backend.servers, connections })
  })
  app.post('/operator/connections/:server', c => {
    const server = findServer(backend, c.req.param('server')).name
    const facts = { server, owner: ownerMeant(c), expiresAt: Date.now() + addressMs }
    return sendJson(c, { url: connectAddress(backend.address(), facts, text => host.sign(text)) }, 201)
  })
  app.delete('/operator/connections/:server', async c => {
    const { name } = findServer(backend, c.req.param('server'))
    if (!(await backend.forget(name, ownerMeant(c))))
      throw new TurnwireError('not_found', `"${name}" is not connected.`)
    return c.body(null, 204)
  })
  return app
}

/** Operators may name another owner. */
function ownerMeant(c: C): string {
  const { owner, operator } = c.get('principal')
  return (operator === true && c.req.query('owner')) || owner
}

function findServer(backend: ConnectBackend, name: string): ConnectBackend['servers'][number] {
  const found = backend.servers.find(each => each.name === name)
  if (!found)
    throw new TurnwireError('not_found', 'There is no MCP server of this name with accounts of owners.')
  return found
}

type MakePage = (nonce: string) => Page

/** A person opened it, so that a refusal is a page too. */
async function answer(c: C, act: () => Promise<MakePage>): Promise<Response> {
  const make = await act().catch((error: unknown): MakePage => {
    if (!(error instanceof TurnwireError)) throw error
    const { message, status } = publicError(error)
    return given => problemPage(given, status as ContentfulStatusCode, message) // Of the list of codes.
  })
  return sendPage(c, async nonce => make(nonce))
}

async function show(
  c: C,
  host: WireHost,
  backend: ConnectBackend,
): Promise<{ facts: ConnectFacts; page: MakePage }> {
  const facts = readConnectToken(c.req.param('token') ?? '', text => host.sign(text))
  const { name, host: at, scope } = findServer(backend, facts.server)
  if ((facts.expiresAt ?? Number.POSITIVE_INFINITY) <= Date.now())
    throw new TurnwireError('callback_expired', 'This address has expired. Ask for a new one.')
  if (facts.call && !(await stillAsks(host.engineFor(serverCaller), facts.call)))
    throw new TurnwireError('callback_expired', 'Nothing waits for this any more. You can close this page.')
  const { owner } = facts
  const shown = { server: name, host: at, owner, ...(scope !== undefined && { scope }) }
  return { facts, page: nonce => connectPage(nonce, { state: 'ask', ...shown }) }
}

/** No redirect: browsers apply the rule for forms to where a form is redirected. */
async function begin(c: C, host: WireHost, backend: ConnectBackend): Promise<MakePage> {
  await readForm(c, formBytes)
  const { facts } = await show(c, host, backend)
  const { server, owner, call } = facts
  const redirectUrl = `${backend.address()}${returnPath}`
  const { address, browser } = await backend.begin({ server, owner, ...(call && { call }) }, redirectUrl)
  c.header('Set-Cookie', cookie(backend, browser, cookieS))
  return nonce => connectPage(nonce, { state: 'begun', server, address })
}

async function finish(c: C, host: WireHost, backend: ConnectBackend): Promise<MakePage> {
  const { searchParams } = new URL(c.req.url)
  const browser = readCookie(c.req.header('cookie'), cookieName)
  c.header('Set-Cookie', cookie(backend, '', 0))
  const { server, owner, call } = await backend.finish(searchParams, browser)
  if (call) {
    const path = connectAddress('', { server, owner, call }, text => host.sign(text))
    // The call finds the tokens by itself, also if someone else answers in this very moment.
    await answerWaiting(host.engineFor(serverCaller), call, path).catch((error: unknown) =>
      host.log('warn', 'The question of a call that waited for a connection could not be answered.', {
        error: publicError(error).message,
      }),
    )
  }
  return nonce => connectPage(nonce, { state: 'done', server, owner, waits: call !== undefined })
}

/** `Lax`: it has to come along when the other side sends the browser back. */
function cookie(backend: ConnectBackend, value: string, maxAgeS: number): string {
  const isSecure = backend.address().startsWith('https:')
  return writeCookie(cookieName, value, { sameSite: 'Lax', maxAgeS, isSecure })
}
