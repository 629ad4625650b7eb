// OpenAI Responses.
import { isUnder, type Wire } from '../wire.ts'
import { wireName } from './decode.ts'
import { responsesRoutes } from './serve.ts'
import { responsesSocket } from './socket.ts'
import { failureBody } from './wordings.ts'

/** Two names under it are no agents. */
const relayedPath = /^\/v1\/responses(?:\/(?!compact$|input_tokens$)[^/]+)?$/

export const responses: Wire = {
  name: wireName,
  paths: ['/v1/responses', '/v1/conversations', '/v1/models'],
  about: 'OpenAI Responses',
  docs: 'docs/protocols/responses.md',
  serve: host => ({
    routes: responsesRoutes(host),
    sockets: [
      { path: '/v1/responses', open: ({ socket, principal }) => responsesSocket(host, socket, principal) },
    ],
  }),
  errorBody: failureBody,
  payable: ({ path }) => isUnder(path, '/v1/responses'),
  relayed: ({ method, path }) => method === 'POST' && relayedPath.test(path),
}
