// The operator API as it goes over the wire, as docs/protocols/operator.md describes it. Types only, for the server and for
// its clients: encode.ts makes these answers, so the compiler holds both sides to one description. They are the API's own: the
// engine may call a row or a call otherwise.
import type { SearchHit, SessionRange } from '../../language/activity.ts'
import type { Restriction } from '../../language/approvers.ts'
import type { CallPart, Outcome } from '../../language/calls.ts'
import type { Delta, Event, Grant, Settings, TurnStop, WaitMode } from '../../language/events.ts'
import type { AgentFlowReport, FlowFact } from '../../language/flow.ts'
import type { PaymentRecord } from '../../language/payments.ts'
import type {
  ForeseenVerdict,
  RulesFileState,
  ShadowVerdict,
  ShownPolicy,
  VerdictWord,
} from '../../language/policy.ts'
import type { AnswerAction, FormContent, FormSchema } from '../../language/questions.ts'
import type { Report } from '../../language/report.ts'
import type { ToolServerInfo } from '../../language/servers.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import type { DiffLine } from '../../lib/text/line-diff.ts'

export type OperatorMe = {
  name: string
  owner: string
  operator: boolean
  /** Which approvals the caller may decide, where policy names approvers. */
  roles?: readonly string[]
  open: boolean
  version: string
  /** The parts of the server that are configured and have routes of their own. */
  features: ('payments' | 'relay' | 'connections')[]
}

/** How a person may sign in besides with a key. `page`: where a sign-in at the provider begins and ends. */
export type SignInOptions = { oidc?: { label: string; page: string } }

/** What the provider adds to the address of the sign-in page. */
export type ProviderAnswer = { state: string; code?: string; iss?: string; error?: string }

export type SessionStatus = 'idle' | 'running' | 'waiting'

export type OperatorSession = {
  id: string
  owner: string
  agent: string
  model?: string
  wire?: string
  status: SessionStatus
  opening?: string
  createdAt: number
  updatedAt: number
  events: number
  bytes: number
  tokens: number
  cost?: number
  waits?: readonly string[]
  /** How the last turn ended, unless it simply ended. */
  stop?: TurnStop
  leftAlone?: boolean
  forkedFrom?: { session: string; seq: number }
  found?: SearchHit
}

/** `failed`: at rest, and its last turn neither ended by itself nor was stopped by someone. */
export type ListedStatus = SessionStatus | 'failed'

export type SessionQuery = {
  after?: string
  limit?: number
  status?: ListedStatus
  agent?: string
  owner?: string
  model?: string
  q?: string
} & SessionRange
export type OperatorSessions = { sessions: OperatorSession[]; next?: string; total?: number; behind?: number }

/** A call of the last answer. Stages: proposed, handed, asking, approved, started, settled. */
export type OperatorCall = Omit<Restriction, 'requesters'> & {
  part: CallPart
  index: number
  stage: string
  text: string
  editedBy?: string
  argsHash?: string
  toolHash?: string
  rule?: string
  reason?: string
  expiresAt?: number
  attempt: number
  outcome?: Outcome
}

export type OperatorSessionState = {
  id: string
  owner: string
  agent: string
  model?: string
  wire: string
  status: SessionStatus
  createdAt: number
  updatedAt: number
  seq: number
  events: number
  messages: number
  settings: Settings
  opening?: string
  turn?: { id: string; wire: string; startedAt: number; first: number; steps: number }
  calls: OperatorCall[]
  grants: Grant[]
  next: { do: string; calls?: string[]; stop?: string; limit?: string }
  lastStop?: { stop: string; limit?: string; error?: { code: string; message: string } }
  controlledBy?: string
  used: { tokens: number; cost?: number }
  forkedFrom?: { session: string; seq: number }
}

/** Of a tool whose definition is another one than was allowed. */
export type ToolChange = { changed?: string | undefined; accepted?: ToolDeclaration | undefined }

/** Without the operator scope `system` and the tools that are not exposed are left out. */
export type OperatorAgent = {
  name: string
  title?: string
  version: string
  description?: string
  system?: string
  /** The default of a secret reads `***`. */
  options: {
    name: string
    title?: string
    description?: string
    type: 'text' | 'secret' | 'select'
    default: string
    options?: string[]
  }[]
  /** `changed`: how its definition differs from the one that was allowed, in words; `accepted`: that one. */
  tools: (ToolDeclaration & {
    exposed: boolean
    trust: 'trusted' | 'ask' | 'deny'
    /** What the gate says of a call of it, as far as that is known before its arguments are. */
    verdict?: ForeseenVerdict
    /** It can say what became of a call that may have taken effect. */
    canReconcile?: true
    /** Its calls can be undone. */
    canUndo?: true
  } & ToolChange)[]
  /** The rules of its gate, in order. Absent: it has none. For operators only. */
  policy?: ShownPolicy
  clientTools: boolean
  model: { id: string; name?: string; contextTokens?: number }
}

export type OperatorAgents = {
  agents: OperatorAgent[]
  models: Record<string, { id: string; contextTokens?: number }>
  /** MCP servers, with their health. */
  servers?: ToolServerInfo[]
  /** For each agent, what its tools can do together. */
  flow?: readonly AgentFlowReport[]
}

/** How often a rule decided, by verdict. `rule` is also what decided without one: `operator-trust`, `grant`, `flow`, … */
export type RuleHits = { agent: string; rule: string; last: number } & Record<VerdictWord, number>

/** A call about which shadow rules would have decided otherwise. `given`: the verdict that counted. */
export type ShadowDifference = ShadowVerdict & {
  at: number
  session: string
  owner: string
  agent: string
  callId: string
  tool: string
  given: VerdictWord
}

export type OperatorPolicy = {
  /** The rules of each agent in order, and the verdict on each of its tools. */
  agents: { agent: string; policy?: ShownPolicy; tools: { name: string; verdict: ForeseenVerdict }[] }[]
  /** Absent: no file of rules is configured. */
  file?: RulesFileState
  /** Verdicts since this time are counted. */
  since: number
  hits: RuleHits[]
  /** `judged`: the calls about which shadow rules were asked too. `differences`: the newest, at most 200 of them. */
  shadow: { judged: number; differing: number; differences: ShadowDifference[] }
  /** `complete` false: there are more sessions than one request looks at, and these are the newest. */
  scanned: { sessions: number; complete: boolean }
}

/** A call that nobody made. `session`: it is judged as if it were made there next. */
export type JudgeRequest = {
  agent?: string
  tool: string
  input: Json
  owner?: string
  session?: string
}

/** `problem`: the call would not get so far; why. */
export type JudgeAnswer =
  | {
      verdict: VerdictWord
      rule: string
      reason?: string
      policy?: string
      shadow?: ShadowVerdict
      flow?: readonly FlowFact[]
    }
  | { problem: string }

/** The words of a call's result, in place of the recorded ones. */
export type ChangedResult = { callId: string; text: string; failed?: boolean }

/** `upTo`: the number of the last event that is taken over. */
export type ForkRequest = {
  upTo?: number
  agent?: string
  model?: string
  text?: string
  results?: ChangedResult[]
}

/**
 * One thing that is another from event `at` on. `model`: a name of the configuration. `rules`: YAML or JSON; they come before all
 * others.
 */
export type TrialRequest = {
  at: number
  model?: string
  system?: string
  rules?: string
  result?: ChangedResult
  /** Decides about calls that nobody decided about. Default: allow; no tool runs. */
  people?: 'allow' | 'reject'
}

export type TrialTotals = Record<'steps' | 'unasked' | 'asked' | 'denied' | 'tokens', number> & {
  cost?: number
}

/** What the session would have come to. `left`: where it went another way; `events`: its log. */
export type TrialAnswer = {
  differences: { seq: number; about: string; text: string; diff?: DiffLine[] }[]
  left?: { seq: number; why: string }
  then: TrialTotals
  now: TrialTotals
  events: { seq: number; event: Event }[]
}

export type OperatorCommand =
  | { do: 'say'; text: string; model?: string; during?: 'refuse' | WaitMode }
  | {
      do: 'decide'
      callId: string
      granted: boolean
      reason?: string
      edit?: JsonObject
      seen?: string
      remember?: boolean
    }
  | { do: 'result'; callId: string; text: string; failed?: boolean }
  | { do: 'answer'; question: string; action: AnswerAction; content?: FormContent }
  | { do: 'call'; tool: string; input: JsonObject | string }
  | { do: 'configure'; model?: string; tools?: { name: string; trust?: boolean }[] }
  | {
      do: 'grant'
      tool: string
      toolHash: string
      argsHash?: string
      where?: Record<string, string>
      expiresAt?: number
      uses?: number
    }
  | { do: 'revoke'; grantId: string }
  | { do: 'cancel'; withdraw?: boolean }
  | { do: 'cancel-call'; callId: string; reason?: string }
  | { do: 'reconcile'; callId: string }
  | { do: 'undo'; callId: string }
  | { do: 'withdraw'; message: string; reason?: string }
  | { do: 'compact' }
  | { do: 'take-control'; force?: boolean }
  | { do: 'perform' }
  | { do: 'answer-model'; text?: string; calls?: { tool: string; input: JsonObject | string }[] }
  | { do: 'answer-call'; callId: string; text: string }
  | { do: 'replace-arguments'; callId: string; input: JsonObject | string }
  | { do: 'release-control' }

/** `message`: one that had to wait, and what has become of it. */
export type CommandAccepted = {
  first: number
  count: number
  turn?: string
  grant?: string
  message?: { id: string; state: 'queued' | 'delivered' | 'withdrawn' }
  /** What became of the call that was checked. */
  found?: 'ran' | 'did-not-run' | 'unknown'
}

export type FollowedItem =
  | { type: 'event'; seq: number; event: Event }
  | { type: 'delta'; delta: Delta }
  | { type: 'status'; status: SessionStatus }
  | { type: 'lost'; code: string; error: string }

/** `open`: the stream is open. Read the list now: changes before that are not told. */
export type SessionChanged =
  | { type: 'open' }
  | { type: 'session'; session: OperatorSession }
  | { type: 'removed'; id: string }

export type OperatorApproval = Omit<Restriction, 'requesters'> & {
  session: string
  owner: string
  agent: string
  opening?: string
  callId: string
  /** `agent`: the agent whose tool it is, if one that works for this one made the call. */
  tool: { name: string; agent?: string } & Partial<ToolDeclaration> & ToolChange
  text: string
  /** The message after which the call was made, and the number of its event. */
  message?: { text: string; seq: number }
  /** The tool's report of what the call would do. */
  preview?: Report
  argsHash?: string
  toolHash?: string
  rule?: string
  reason?: string
  expiresAt?: number
  askedAt?: number
  /** Why the caller may not decide, in words. Absent: the caller may. */
  whyNot?: string
  last?: { text: string; at: number; session: string }
  /** Where its arguments came from, if that is why it asks. `seq`: of the answer in which the call that read a value was made. */
  flow?: (FlowFact & { seq?: number })[]
}

/** A question of a running call to a person. */
export type OperatorQuestion = Pick<
  OperatorApproval,
  'session' | 'owner' | 'agent' | 'opening' | 'callId' | 'tool' | 'text' | 'message'
> & {
  askedAt: number
  question: { id: string; message: string; schema?: FormSchema; url?: string; expiresAt?: number }
}

export type VendorProtocol =
  | 'anthropic'
  | 'openai-responses'
  | 'openai-chat'
  | 'gemini'
  | 'gemini-interactions'

export type VendorRequest = {
  protocol: VendorProtocol
  body: Json
  warnings: string[]
  findings: { rule: string; message: string; why: string }[]
}

export type OperatorSystem = {
  version: string
  node: string
  startedAt: number
  memory: number
  store: { ok: boolean; error?: string }
  models: {
    name: string
    id: string
    requests: number
    failures: number
    tokens: number
    lastError?: string
    lastErrorAt?: number
    medianMs?: number
  }[]
  /** Only on a server whose store several nodes can share. `self`: the one that answers. */
  nodes?: OperatorNode[]
  /** When the node that answers last saw them. */
  nodesSeenAt?: number
  /** The state of `turnwire attach` with the same data folder, now or at its last run. */
  attached?: AttachedMachine
}

/** This machine as one that serves a relay. Amounts are in the smallest unit of the relay's asset. */
export type AttachedMachine = {
  server: string
  agentId: string
  state: string
  since: string
  prices: { inputTokenPrice: string; outputTokenPrice: string }
  requests: { served: number; failed: number; refused: number; inFlight: number }
  /** At its own prices, if every request was paid for. The relay records the payments that were made. */
  earnings: string
  refusals: { at: string; reason: string }[]
}

export type OperatorNode = {
  id: string
  address?: string
  version: string
  /** The remaining time of its lease. 0 or less: the lease has ended, and others take its sessions. */
  leftMs: number
  self?: true
  /** Why it should be given no requests now. Known of `self` only. */
  problem?: string
}

/** A payment as the server keeps it, without what was signed. Amounts are texts in the smallest unit of the asset. */
export type OperatorPayment = Pick<
  PaymentRecord,
  | 'id'
  | 'state'
  | 'kind'
  | 'form'
  | 'payer'
  | 'payTo'
  | 'network'
  | 'asset'
  | 'cap'
  | 'agent'
  | 'amount'
  | 'fee'
  | 'transaction'
  | 'settledAt'
  | 'usage'
  | 'reason'
  | 'owed'
  | 'unclear'
  | 'refund'
> & { session?: string }

export type OperatorPayments = {
  asset: { address: string; name: string; decimals: number }
  payments: OperatorPayment[]
  totals: { network: string; asset: string; amount: string; payments: number }[]
}

/**
 * An agent that its owner has attached to a relay. Counts are those since the server started. `refused`: of those that
 * failed, the ones that its machine refused. `earned`: by asset, if the server takes payments.
 */
export type AttachedAgent = {
  agentId: string
  walletAddress: string
  name?: string
  description?: string
  available: boolean
  pricing?: { inputTokenPrice: string; outputTokenPrice: string }
  stats: {
    machines: number
    inFlight: number
    served: number
    failed: number
    refused: number
    firstEventMs?: number
  }
  earned?: { network: string; asset: string; amount: string; payments: number; pending: number }[]
}

export type OperatorKeyInfo = { name: string; operator: boolean; fixed: boolean; roles?: readonly string[] }

export type {
  ApprovalLink as OperatorLink,
  WebhookDeliveries as OperatorDeliveries,
  WebhookDelivery as OperatorDelivery,
  WebhookInfo as OperatorWebhook,
} from '../../language/webhooks.ts'
