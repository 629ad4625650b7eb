// The Agent Application Protocol.
import { plainErrorBody, type Wire } from '../wire.ts'
import { aapRoutes, wireName } from './serve.ts'

export const aap: Wire = {
  name: wireName,
  paths: ['/meta', '/sessions', '/session', '/aap'],
  about: 'Agent Application Protocol',
  docs: 'docs/protocols/aap.md',
  serve: host => ({ routes: aapRoutes(host) }),
  errorBody: plainErrorBody,
  // A session is made without a turn.
  payable: ({ path }) => !path.endsWith('/sessions'),
}
