// The parts of the server that the operator API needs besides the engine: its keys, its state, and vendors' requests.
// The server gives it (server/operator.ts); a wire may not import the server.
import type { Engine, ModelRequest } from '../../engine/index.ts'
import type { RulesFileState } from '../../language/policy.ts'
import type { Json } from '../../lib/json/index.ts'
import type {
  JudgeAnswer,
  OperatorDeliveries,
  OperatorDelivery,
  OperatorKeyInfo,
  OperatorMe,
  OperatorSystem,
  OperatorWebhook,
  VendorRequest,
} from './schema.ts'

export type HypotheticalCall = {
  agent: string
  owner: string
  tool: string
  input: Json
  /** It is judged as if it were made there next. */
  session?: string
}

/** Services of the server for the operator API, besides the engine. */
export type OperatorBackend = {
  readonly version: string
  /** The server has no keys. */
  isOpen(): boolean
  /** The parts of the server that are configured and have pages of their own. */
  readonly features: OperatorMe['features']
  /** The cookie's value and the secret that goes with it, or undefined for a key that is not known. */
  signIn(key: string): { cookie: string; secret: string; maxAgeS: number } | undefined
  /** The request that a vendor would receive. Throws `bad_request` for a protocol that is not known. */
  prepare(request: ModelRequest, protocol: string): Promise<Omit<VendorRequest, 'protocol'>>
  system(): OperatorSystem
  /** Undefined: no file of rules is configured. */
  rulesFile(): RulesFileState | undefined
  /** What the gate would say about a call. Throws `unknown_agent` and `session_not_found`. */
  judge(engine: Engine, call: HypotheticalCall): Promise<JudgeAnswer>
  keys: {
    list(): OperatorKeyInfo[]
    /** Gives the key. Throws `bad_request` for a name that is taken or not allowed. */
    add(name: string, operator: boolean): string
    /** False: there is none of this name that can be removed. */
    remove(name: string): boolean
  }
  /** Throws `not_found` for an endpoint or a message that there is not. Undefined: the store keeps no messages. */
  readonly webhooks: WebhookBackend | undefined
  /** Where this server is reached. Undefined: nobody knows. */
  address(): string | undefined
}

export type WebhookBackend = {
  list(): Promise<OperatorWebhook[]>
  deliveries(endpoint: string, page: { limit: number; after?: string }): Promise<OperatorDeliveries>
  resend(endpoint: string, id: string): Promise<OperatorDelivery>
  /** False: it was not disabled. */
  enable(endpoint: string): Promise<boolean>
  /** The one that signs, or the first of them. */
  secret(endpoint: string): string
}

export const cookieName = 'turnwire_console'
/** Has the secret of the sign-in. The cookie counts only with it. */
export const consoleHeader = 'x-turnwire-console'
