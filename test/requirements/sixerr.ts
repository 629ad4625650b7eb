// The relay protocol of Sixerr (generation A), clause by clause, in our own words. Clauses of the Responses wire that the
// relay shares are in responses.ts under the version `sixerr`. `ours` marks what we add or decide where the sources say
// nothing; docs/protocols/sixerr.md explains each of these.
import { clausesOf, type Manifest } from './manifest.ts'

const http = `
SIX-HTTP-01 | 2 | GET /health | status is ok, and plugins counts the attached machines.
SIX-HTTP-02 | 2 | GET /v1/providers | Lists the agents with agentId, available and pricing, and needs no key.
SIX-HTTP-03 | 2 | GET /v1/usage | The owner reads what their agent did, with their token.
SIX-HTTP-04 | 2 | POST /v1/responses | Unknown members are 400, at every level; so are tools that anyone but the client would run.
SIX-HTTP-05 | 2 | POST /v1/responses | Tools and the choice among them are taken nested, and flat as OpenAI has them.
SIX-HTTP-06 | 2 | tool round trip | A call ends the response; the history with its output is a request of its own.
SIX-HTTP-07 | 2 | routing | With a token model is an address: auto is the cheapest agent, anything else an agent id; machines are told default.
SIX-HTTP-08 | 2 | routing | Without a token agent_id, the path or routing name the agent, and model is passed on.
SIX-HTTP-09 | 2 | routing | agent_id together with routing is 400; an unknown agent is 404.
SIX-HTTP-10 | ours | routing | A request that no machine can take waits in order; when its time is over it is 503.
SIX-HTTP-11 | ours | routing | A machine that does not answer in time is 504.
SIX-HTTP-12 | ours | media | Images and files are taken as data, and refused by address.
`

const auth = `
SIX-AUTH-01 | 2 | /auth/challenge, /auth/verify | A signature of the challenge's message by the wallet gives a token.
SIX-AUTH-02 | 2 | /auth/verify | A wrong wallet, signature or nonce is refused with error.message, and a nonce is good once.
SIX-AUTH-03 | ours | JWT | Tokens are ES256, carry wallet, agent and expiry, and nothing forged, changed or expired passes.
SIX-AUTH-04 | 2 | /auth?callback= | A page signs in with the browser's wallet and gives the token to the callback.
SIX-AUTH-05 | ours | /auth?callback= | The callback must be on the person's own machine.
SIX-AUTH-06 | ours | relay.owners | Only the wallets of the setting may sign in.
SIX-AUTH-07 | ours | JWT, jwt_refresh | Tokens carry the time of the signature, and none is renewed past relay.signInHours after it.
`

const socket = `
SIX-WS-01 | 2 | auth | The first frame signs in; auth_ok names the machine, auth_error ends it.
SIX-WS-02 | 2 | request, response | A request that is not streamed gets one response or error.
SIX-WS-03 | 2 | stream_event, stream_end | A stream is its events, then stream_end with the usage.
SIX-WS-04 | 2 | ids | Several requests are in flight, matched by id; an id that was not given out is refused.
SIX-WS-05 | 2 | rules | Frames after the first terminal one are ignored.
SIX-WS-06 | 2 | ping, pong | Pings are answered with their time; a machine that does not answer is dropped.
SIX-WS-07 | 2 | price_update | New prices are acknowledged and hold at once.
SIX-WS-08 | 2 | jwt_refresh | A machine gets a new token before its own expires.
SIX-WS-09 | 2 | close 1012 | The server closes with 1012 when it restarts, and machines come back at once.
SIX-WS-10 | 2 | back-off | Attempts follow each other after 1 s, doubling up to 30 s, with up to a quarter more.
SIX-WS-11 | 2 | auth_error | A machine that was refused does not try again.
SIX-WS-12 | 2 | rules | A machine ignores frames that it cannot read or does not know.
SIX-WS-13 | ours | cancel | When a client leaves, its request is forgotten and its place is free.
SIX-WS-14 | ours | failures | A request whose machine fails before it said anything is asked of another; later it fails.
SIX-WS-15 | ours | limits | Frames, answers and silence are bounded; a machine that exceeds them is closed.
SIX-WS-16 | ours | nodes | A request at any node of a cluster reaches a machine that is attached to another, in one hop.
`

const payment = `
SIX-PAY-01 | 2 | 402, accepts | The offer has the agent's wallet, its prices, the cap and the platform's fee.
SIX-PAY-02 | 2 | settlement | A successful answer is paid for at the agent's prices; the fee goes to the platform, the rest to the agent.
SIX-PAY-03 | 2 | settlement | An answer that failed is not charged.
SIX-PAY-04 | ours | JWT | Where payments are configured, a token alone pays for nothing.
`

const owner = `
SIX-OWN-01 | 2 | plugin | No tool runs on the owner's machine, whatever a request says.
SIX-OWN-02 | ours | plugin | Requests for tools, files, stored things or anything unknown are refused and counted.
SIX-OWN-03 | 2 | local forwarding | A local Responses server may answer, with a token of its own and tools in its form.
SIX-OWN-04 | ours | wallet | The key is made at first use, and only its owner can read it.
SIX-OWN-05 | ours | status | The owner sees requests, earnings and refusals.
`

const manifest: Manifest = {
  protocol: 'Sixerr relay',
  prefix: 'SIX',
  clauses: clausesOf([http, auth, socket, payment, owner].map(part => part.trim()).join('\n')),
}
export default manifest
