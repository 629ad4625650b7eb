// For operators and the console.
import type { WireHost } from '../host.ts'
import { plainErrorBody, type Wire } from '../wire.ts'
import type { OperatorBackend } from './backend.ts'
import { wireName } from './decode.ts'
import { operatorRoutes } from './serve.ts'
import { signInRoutes } from './serve-sign-in.ts'

export { requireOperator } from './access.ts'
export {
  consoleHeader,
  cookieName,
  type OidcBackend,
  type OperatorBackend,
  type SignedIn,
  type WebhookBackend,
} from './backend.ts'
export type { JudgeAnswer, OperatorSystem } from './schema.ts'

export type OperatorNeeds = { operator: OperatorBackend }

export const operator: Wire<WireHost & OperatorNeeds> = {
  name: wireName,
  paths: ['/operator'],
  about: 'for operators and the console',
  docs: 'docs/protocols/operator.md',
  serve: host => ({
    routes: operatorRoutes(host, host.operator),
    keyless: signInRoutes(host, host.operator),
  }),
  errorBody: plainErrorBody,
}
