// DeltaKit.
import type { Wire } from '../wire.ts'
import { wireName } from './commands.ts'
import { ownerOfRun } from './runs.ts'
import { deltakitRoutes } from './serve.ts'
import { deltakitSocket } from './socket.ts'

export const deltakit: Wire = {
  name: wireName,
  paths: ['/api/chat', '/api/sessions', '/api/history', '/api/jobs', '/api/active-run', '/api/ws'],
  about: 'DeltaKit',
  docs: 'docs/protocols/deltakit.md',
  serve: host => ({
    routes: deltakitRoutes(host),
    sockets: ['/api/ws', '/api/ws/:agent'].map(path => ({
      path,
      open: ({ socket, principal, params }) => deltakitSocket(host, socket, principal, params['agent']),
    })),
  }),
  errorBody: ({ code, message }) => ({ detail: message, error: message, code }),
  // A session is made without a turn.
  payable: ({ path }) => path !== '/api/sessions',
  // DeltaKit's hook stops a run without a key: the run's id says whose it is.
  ownerByAddress({ method, path }, host) {
    const [, id] = /^\/api\/jobs\/([^/]+)\/cancel$/.exec(path) ?? []
    return method === 'POST' && id !== undefined ? ownerOfRun(host, id) : undefined
  },
}
