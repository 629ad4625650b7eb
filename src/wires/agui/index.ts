// The AG-UI protocol.
import { plainErrorBody, type Wire } from '../wire.ts'
import { aguiWire } from './decode.ts'
import { aguiRoutes } from './serve.ts'

export const agui: Wire = {
  name: aguiWire,
  paths: ['/agui/<agent>'],
  about: 'AG-UI',
  docs: 'docs/protocols/agui.md',
  serve: host => ({ routes: aguiRoutes(host) }),
  errorBody: plainErrorBody,
  payable: () => true,
}
