// The relay's own HTTP routes: signing in with a wallet, the attached agents, and what each owner's agent did. They need no
// key of the server: a wallet signs in, and its token is the key. One more, for the operator, lists the agents with their earnings.
import { type Context, Hono } from 'hono'
import type { RouteHost, WireEnv } from '../../callers/caller.ts'
import { type Hex, readWalletAddress } from '../../callers/wallet.ts'
import { TurnwireError } from '../../language/errors.ts'
import { parseBearer } from '../../lib/net/http.ts'
import type { Challenges } from './challenge.ts'
import { totalCounts } from './elsewhere.ts'
import type { Claims, Tokens } from './jwt.ts'
import type { Registry, RelayAgent } from './registry.ts'
import { signInPage } from './sign-in-page.ts'

export type RelayRoutes = {
  routes: RouteHost
  challenges: Challenges
  tokens: Tokens
  registry: Registry
  admits: (wallet: Hex) => boolean
  now: () => number
  /** Asks the other nodes for their attached agents. */
  look: () => Promise<void>
  /** Undefined: nothing is paid for here. */
  earnings: () => Earnings | undefined
}

type Earned = { network: string; asset: string; amount: string; payments: number; pending: number }

/** The earnings of agents, from the payment desk. `of`: in the asset of the current configuration. */
export type Earnings = {
  of(agentId: string): Promise<Earned>
  /** By the id of the agent. */
  all(): Promise<ReadonlyMap<string, readonly Earned[]>>
}

/** A signature and a nonce need no more. */
const bodyBytes = 64 * 1024
/** Agents in one answer: anyone may ask, and owners write the descriptions. */
const usuallyListed = 100
const mostListed = 500

export function relayRoutes(relay: RelayRoutes): Hono<WireEnv> {
  const { routes, challenges, registry } = relay
  // Errors are answered by the server, in the form of the path.
  const app = new Hono<WireEnv>()
  app.get('/auth/challenge', c => {
    const wallet = readWalletAddress(c.req.query('address'))
    if (!wallet)
      throw new TurnwireError('bad_request', 'Give the wallet: /auth/challenge?address=0x… (40 digits).')
    return routes.send(c, challenges.make(wallet))
  })
  app.post('/auth/verify', c => verify(c, relay))
  app.get('/auth', c => signInPage(c))
  app.get('/v1/providers', async c => {
    await relay.look()
    const { agents, next } = pageIn(c, registry)
    const providers = agents.map(each => describe(registry, each))
    return routes.send(c, { providers, ...(next !== undefined && { next }) })
  })
  app.get('/v1/usage', async (c, next) => {
    const claims = readClaims(c, relay)
    // Anyone else may have usage to read elsewhere.
    if (!claims) return next()
    await relay.look()
    return routes.send(c, await describeUsage(relay, claims))
  })
  return app
}

/** The attached agents for the operator of the relay: their public data, and their earnings. */
export function relayOperatorRoutes({ routes, registry, look, earnings }: RelayRoutes): Hono<WireEnv> {
  const app = routes.app()
  app.get('/operator/relay', async c => {
    routes.requireOperator(c)
    await look()
    const { agents, next } = pageIn(c, registry)
    const earned = await earnings()?.all()
    const shown = agents.map(agent => ({
      ...describe(registry, agent),
      ...(earned && { earned: earned.get(agent.agentId) ?? [] }),
    }))
    return routes.send(c, { agents: shown, ...(next !== undefined && { next }) })
  })
  return app
}

/** The agents that a request asks for. */
function pageIn(c: Context<WireEnv>, registry: Registry): ReturnType<Registry['page']> {
  const limit = numberIn(c, 'limit', { least: 1, most: mostListed }) ?? usuallyListed
  const after = numberIn(c, 'after', { least: 0, most: Number.MAX_SAFE_INTEGER }) ?? 0
  return registry.page(after, limit, c.req.query('available') === 'true')
}

function numberIn(
  c: Context<WireEnv>,
  name: string,
  { least, most }: { least: number; most: number },
): number | undefined {
  const given = c.req.query(name)
  if (given === undefined) return undefined
  const value = /^\d{1,16}$/.test(given) ? Number(given) : -1
  if (value >= least && value <= most) return value
  throw new TurnwireError('bad_request', `"${name}" must be a whole number from ${least} to ${most}.`)
}

async function verify(c: Context<WireEnv>, relay: RelayRoutes): Promise<Response> {
  const { challenges, tokens, admits, now, routes } = relay
  const body = await routes.readBody(c, bodyBytes)
  const { address, nonce, signature, agentId } = body
  const wallet = readWalletAddress(address)
  if (!wallet || typeof nonce !== 'string' || typeof signature !== 'string')
    throw new TurnwireError('bad_request', 'Send {"address":"0x…","nonce":"…","signature":"0x…"}.')
  if (agentId !== undefined && agentId !== wallet)
    throw new TurnwireError(
      'forbidden',
      'This server knows no ERC-8004 identities: the id of an agent is the address of its wallet. Leave agentId out.',
    )
  const result = await challenges.check(wallet, nonce, signature)
  if (result !== 'ok') throw new TurnwireError('unauthorized', refusals[result])
  if (!admits(wallet))
    throw new TurnwireError(
      'forbidden',
      `The wallet ${wallet} may not use this relay. Its operator has to add it.`,
    )
  const { jwt, claims } = tokens.issue(wallet, now())
  return routes.send(c, { jwt, walletAddress: wallet, identitySource: 'local', agentId: claims.agentId })
}

const refusals = {
  unknown: 'The nonce is not one of this server for this wallet, or has expired. Ask for another challenge.',
  used: 'The nonce was used before. Ask for another challenge.',
  signature: 'The signature is not that of this wallet for the message of the challenge.',
}

/** Of the bearer token of a request; undefined if it is none of ours. */
function readClaims(
  c: Context<WireEnv>,
  { tokens, admits, now }: Pick<RelayRoutes, 'tokens' | 'admits' | 'now'>,
): Claims | undefined {
  const bearer = parseBearer(c.req.header('authorization'))
  if (typeof bearer === 'string') return undefined
  const claims = tokens.read(bearer.token, now())
  return claims && admits(claims.wallet) ? claims : undefined
}

function describe(registry: Registry, agent: RelayAgent) {
  const { agentId, wallet, name, description, prices, firstFrameMs } = agent
  const { machines, inFlight, served, failed, refused } = totalCounts(agent)
  return {
    agentId,
    walletAddress: wallet,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    available: registry.isAvailable(agent),
    pricing: prices,
    stats: {
      machines,
      inFlight,
      served,
      failed,
      refused,
      ...(firstFrameMs !== undefined && { firstEventMs: Math.round(firstFrameMs) }),
    },
  }
}

/** Counts are those since the servers started that the machines are attached to, and this one; earnings are those on record. */
async function describeUsage({ registry, earnings }: RelayRoutes, { agentId, wallet }: Claims) {
  const agent = registry.get(agentId)
  const none = { machines: 0, served: 0, failed: 0, refused: 0, left: 0, inputTokens: 0, outputTokens: 0 }
  const { machines, served, failed, refused, left, inputTokens, outputTokens } = agent
    ? totalCounts(agent)
    : none
  const earned = await earnings()?.of(agentId)
  return {
    agentId,
    walletAddress: wallet,
    available: agent ? registry.isAvailable(agent) : false,
    machines,
    ...(agent && { pricing: agent.prices }),
    requests: { served, failed, refused, cancelled: left },
    usage: {
      input_tokens: inputTokens,
      output_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
    },
    ...(earned && { earnings: earned }),
  }
}
