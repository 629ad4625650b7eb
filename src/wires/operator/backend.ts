// The parts of the server that the operator API needs besides the engine: its keys, its state, and vendors' requests.
// The server gives it (server/operator.ts); a wire may not import the server.
import type { IncomingMessage } from 'node:http'
import type { Engine, ModelRequest } from '../../engine/index.ts'
import type { Event, Recorded } from '../../language/events.ts'
import type { RulesFileState, SupposedCall } from '../../language/policy.ts'
import type { WebhookDeliveries, WebhookDelivery, WebhookInfo } from '../../language/webhooks.ts'
import type {
  JudgeAnswer,
  OperatorKeyInfo,
  OperatorMe,
  OperatorSystem,
  ProviderAnswer,
  TrialAnswer,
  TrialRequest,
  VendorRequest,
} from './schema.ts'

/** Services of the server for the operator API, besides the engine. */
export type OperatorBackend = {
  readonly version: string
  /** The server has no keys. */
  isOpen(): boolean
  /** The parts of the server that are configured and have pages of their own. */
  readonly features: OperatorMe['features']
  /** Undefined for a key that is not known. */
  signIn(key: string): SignedIn | undefined
  /** Undefined: no identity provider is configured. */
  readonly oidc: OidcBackend | undefined
  /** The request that a vendor would receive. Throws `bad_request` for a protocol that is not known. */
  prepare(request: ModelRequest, protocol: string): Promise<Omit<VendorRequest, 'protocol'>>
  system(): OperatorSystem
  /** Undefined: no file of rules is configured. */
  rulesFile(): RulesFileState | undefined
  /** What the gate would say about a call. Throws `unknown_agent` and `session_not_found`. */
  judge(engine: Engine, call: SupposedCall): Promise<JudgeAnswer>
  /** What a session would have come to with one thing changed. Throws `bad_request` and `unknown_model`. */
  tryChange(
    session: string,
    log: readonly Recorded[],
    change: TrialRequest,
    signal: AbortSignal,
  ): Promise<Omit<TrialAnswer, 'events'> & { log: readonly Event[] }>
  /** The text of a file of evaluations with one case. */
  evalCase(agent: string, name: string, events: readonly Event[]): Promise<string>
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

/** The cookie's value, and the secret that goes with it. */
export type SignedIn = { cookie: string; secret: string; maxAgeS: number }

/** The sign-in at the identity provider. All reject with `unauthorized`, in words for the person. */
export type OidcBackend = {
  readonly label: string
  /** The sign-in page as the provider knows it. A sign-in has to begin and end there. */
  readonly page: string
  /** So long a sign-in may take. */
  readonly maxAgeS: number
  begin(): Promise<{ address: string; cookie: string }>
  finish(answer: ProviderAnswer, cookie: string | undefined): Promise<SignedIn>
  /** Where the person is signed out at the provider too. Undefined: nowhere, or they signed in with a key. */
  endSession(request: Pick<IncomingMessage, 'headers'>): Promise<string | undefined>
}

export type WebhookBackend = {
  list(): Promise<WebhookInfo[]>
  deliveries(endpoint: string, page: { limit: number; after?: string }): Promise<WebhookDeliveries>
  resend(endpoint: string, id: string): Promise<WebhookDelivery>
  /** False: it was not disabled. */
  enable(endpoint: string): Promise<boolean>
  /** The one that signs, or the first of them. */
  secret(endpoint: string): string
}

export const cookieName = 'turnwire_console'
/** Of a sign-in at the identity provider that is under way. */
export const oidcCookieName = 'turnwire_oidc'
/** Has the secret of the sign-in. The cookie counts only with it. */
export const consoleHeader = 'x-turnwire-console'
