// The Agent Client Protocol over HTTP and WebSockets: an editor or another program uses an agent. Loaded when it is configured.
// `connect.ts` serves clients on pipes.
import { publicError } from '../../language/errors.ts'
import { closeReason } from '../../lib/text/index.ts'
import type { WireHost } from '../host.ts'
import { plainErrorBody, type Upgrade, type Wire } from '../wire.ts'
import type { HostFor } from './http.ts'

/** Undefined: it is not served. */
export type AcpNeeds = { acp: HostFor | undefined }

export const acp: Wire<WireHost & AcpNeeds> = {
  name: 'acp',
  paths: ['/acp/<agent>'],
  about: 'Agent Client Protocol, if server.acp is set',
  docs: 'docs/protocols/acp.md',
  needs: 'The protocol is served here if the configuration has server.acp.',
  async serve(host) {
    if (!host.acp) return undefined
    const { acpHttp } = await import('./http.ts')
    const { routes, open, close } = acpHttp(host.acp, host.limits, host.log)
    const enter = ({ socket, principal, params }: Upgrade): void => {
      try {
        open(socket, principal, params['agent'])
      } catch (error) {
        socket.close(1008, closeReason(publicError(error).message))
      }
    }
    return { routes, close, sockets: ['/acp', '/acp/:agent'].map(path => ({ path, open: enter })) }
  },
  errorBody: plainErrorBody,
}
