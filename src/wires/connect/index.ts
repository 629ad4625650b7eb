// Owners connect their own accounts at MCP servers, in a browser, and see and end what they have connected.
import type { WireHost } from '../host.ts'
import { plainErrorBody, type Wire } from '../wire.ts'
import type { ConnectBackend } from './backend.ts'
import { connectionRoutes, pageRoutes } from './serve.ts'
import { connectPath } from './token.ts'

export type ConnectNeeds = { connections: ConnectBackend | undefined }

export const connect: Wire<WireHost & ConnectNeeds> = {
  name: 'connect',
  paths: [`${connectPath}/<token>`, '/operator/connections'],
  about: 'accounts of owners at MCP servers',
  docs: 'docs/guide/accounts.md',
  needs: 'This is served if an MCP server has auth: { per: "owner" }.',
  serve: host => {
    const { connections } = host
    if (!connections) return undefined
    return { keyless: pageRoutes(host, connections), routes: connectionRoutes(host, connections) }
  },
  errorBody: plainErrorBody,
}
