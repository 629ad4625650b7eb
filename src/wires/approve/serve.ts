// The page of an approval link, and the decision that it sends. Opening the page decides nothing, however often a program looks at
// it: only the form does. The link itself is the permission, so no key is needed.
import { type Context, Hono } from 'hono'
import { serverCaller } from '../../callers/caller.ts'
import { publicError, TurnwireError } from '../../language/errors.ts'
import { approvePath, type LinkFacts, readLinkToken } from '../approval-link.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { readForm } from '../http/index.ts'
import { sendPage } from '../http/page.ts'
import { invalidPage, linkPage, type Page } from './page.ts'
import { readLink } from './view.ts'

const formBytes = 8 * 1024
const mostReason = 500

export function approveRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  app.get(`${approvePath}/:token`, c => answer(c, host, facts => showLink(host, facts)))
  app.post(`${approvePath}/:token`, c => answer(c, host, facts => decide(c, host, facts)))
  return app
}

type MakePage = (nonce: string) => Page | Promise<Page>

/** A token that is not ours gets a page too: a person opened it. */
async function answer(
  c: Context<WireEnv>,
  host: WireHost,
  act: (facts: LinkFacts) => MakePage | Promise<MakePage>,
): Promise<Response> {
  return sendPage(c, nonce => pageFor(c, host, act, nonce))
}

async function pageFor(
  c: Context<WireEnv>,
  host: WireHost,
  act: (facts: LinkFacts) => MakePage | Promise<MakePage>,
  nonce: string,
): Promise<Page> {
  let facts: LinkFacts
  try {
    facts = readLinkToken(c.req.param('token') ?? '', text => host.sign(text))
  } catch (error) {
    return invalidPage(nonce, publicError(error).message)
  }
  return (await act(facts))(nonce)
}

async function showLink(host: WireHost, facts: LinkFacts, note?: string): Promise<MakePage> {
  const state = await readLink(host.engineFor(serverCaller), host.about.agents, facts, Date.now())
  return nonce => linkPage(state, nonce, note)
}

/** What the link is for is looked at again: the engine compares the hash once more when it decides. */
async function decide(c: Context<WireEnv>, host: WireHost, facts: LinkFacts): Promise<MakePage> {
  const form = await readForm(c, formBytes)
  const decision = form.get('decision')
  const reason = (form.get('reason') ?? '').trim().slice(0, mostReason)
  if (decision !== 'allow' && decision !== 'reject')
    return showLink(host, facts, 'Choose one of the two buttons.')
  const { session, call: callId, approver, roles, argsHash } = facts
  // Bound to the approver: the holder of the link decides as this person, and as nobody else.
  const engine = host.engineFor({ ...serverCaller, name: approver, roles })
  const state = await readLink(engine, host.about.agents, facts, Date.now())
  if (state.state !== 'open') return nonce => linkPage(state, nonce)
  try {
    const granted = decision === 'allow'
    await engine.command(
      { owner: state.view.owner, session },
      {
        do: 'respond',
        results: [],
        decisions: [
          {
            callId,
            granted,
            by: approver,
            seen: argsHash,
            ...(!granted && reason !== '' && { reason }),
          },
        ],
      },
    )
  } catch (error) {
    if (!(error instanceof TurnwireError)) throw error
    // Someone else decided in this very moment, or it changed: the page says which.
    return showLink(host, facts, publicError(error).message)
  }
  return showLink(host, facts)
}
