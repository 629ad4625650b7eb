// Approvals as the client is asked for them: one open request per call, answered once. An answer from another door
// withdraws the request; a client that goes away leaves the approval where it is, in the store.
import { RequestError, type RequestPermissionOutcome, type ToolCallContent } from '@agentclientprotocol/sdk'
import { type CallState, findCall, type Session } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Json } from '../../lib/json.ts'
import { printable } from '../../lib/text.ts'
import type { Preview } from './client-tools.ts'
import { showCall } from './encode.ts'
import type { Peer } from './peer.ts'

export type QuestionsOptions = {
  peer: Peer
  session: () => Session
  by: string
  cwd: string
  previews: ReadonlyMap<string, Preview>
  /** The client says that the whole turn is cancelled. */
  cancelTurn(): void
  log(message: string, error: unknown): void
}

type Decided = { granted: boolean; remember?: true; reason?: string }

export class Questions {
  readonly #options: QuestionsOptions
  readonly #open = new Map<string, AbortController>()

  constructor(options: QuestionsOptions) {
    this.#options = options
  }

  /** Asks about every call that waits for a person and is not asked about yet. */
  askAll(): void {
    for (const call of this.#options.session().state.batch)
      if (call.stage === 'asking') this.ask(call.part.id)
  }

  ask(callId: string): void {
    const call = findCall(this.#options.session().state, callId)
    if (call?.stage !== 'asking' || this.#open.has(callId)) return
    const controller = new AbortController()
    this.#open.set(callId, controller)
    this.#ask(call, controller).catch(error => this.#options.log('A permission could not be settled.', error))
  }

  /** It was decided elsewhere, or there is nothing left to decide. */
  withdraw(callId: string): void {
    const controller = this.#open.get(callId)
    this.#open.delete(callId)
    controller?.abort()
  }

  withdrawAll(): void {
    for (const callId of [...this.#open.keys()]) this.withdraw(callId)
  }

  /** The client has cancelled and answers for itself: its answers are waited for by no one. */
  dropAll(): void {
    this.#open.clear()
  }

  async #ask(call: CallState, controller: AbortController): Promise<void> {
    const { peer, session } = this.#options
    const callId = call.part.id
    const seen = call.argsHash
    const content = await this.#content(call)
    if (this.#open.get(callId) !== controller) return
    const { tool } = session().offer.byName.get(call.part.name) ?? {}
    const shown = showCall({ ...call.part, text: call.text }, tool, this.#options.cwd)
    let decided: Decided | 'cancelled' | undefined
    try {
      const { outcome } = await peer.askPermission(
        {
          sessionId: session().id,
          toolCall: {
            toolCallId: callId,
            status: 'pending',
            ...shown,
            ...(content.length > 0 && { content }),
          },
          options: optionsFor(shown.name),
        },
        controller.signal,
      )
      decided = decisionOf(outcome)
    } catch (error) {
      decided = refusalOf(error)
    }
    if (this.#open.get(callId) !== controller) return
    this.#open.delete(callId)
    if (decided === 'cancelled') this.#options.cancelTurn()
    else if (decided) await this.#record(callId, decided, seen)
  }

  /** Why it is asked, and what it would change. */
  async #content(call: CallState): Promise<ToolCallContent[]> {
    const preview = this.#options.previews.get(call.part.name)
    // It passed the gate, so it parses.
    const changes = preview ? await preview(JSON.parse(call.text) as Json).catch(() => []) : []
    if (call.reason === undefined) return changes
    return [{ type: 'content', content: { type: 'text', text: call.reason } }, ...changes]
  }

  async #record(
    callId: string,
    { granted, remember, reason }: Decided,
    seen: string | undefined,
  ): Promise<void> {
    const { session, by } = this.#options
    const decision = {
      callId,
      granted,
      by,
      ...(remember && { remember }),
      ...(reason !== undefined && { reason }),
      ...(seen !== undefined && { seen }),
    }
    try {
      await session().respond({ results: [], decisions: [decision] })
    } catch (error) {
      if (!(error instanceof TurnwireError)) throw error
      if (error.code === 'approval_expired')
        await session().respond({
          results: [],
          decisions: [{ callId, granted: false, by, reason: 'The approval came too late.' }],
        })
      // Someone else was first, and the first decision stands.
      else if (!settledElsewhere.has(error.code)) throw error
    }
  }
}

const settledElsewhere = new Set(['already_decided', 'call_settled', 'unknown_call', 'stale_approval'])

function optionsFor(name: string) {
  const tool = printable(name, 60)
  return [
    { optionId: 'allow', name: 'Allow this call', kind: 'allow_once' as const },
    {
      optionId: 'allow-session',
      name: `Allow, and every further call of ${tool} in this session`,
      kind: 'allow_always' as const,
    },
    { optionId: 'reject', name: 'Reject this call', kind: 'reject_once' as const },
    {
      optionId: 'reject-session',
      name: `Reject, and every further call of ${tool} in this session`,
      kind: 'reject_always' as const,
    },
  ]
}

/** Only an option that was offered is an approval; anything else is none. */
function decisionOf(outcome: RequestPermissionOutcome): Decided | 'cancelled' {
  if (outcome.outcome === 'cancelled') return 'cancelled'
  switch (outcome.outcome === 'selected' ? outcome.optionId : undefined) {
    case 'allow':
      return { granted: true }
    case 'allow-session':
      return { granted: true, remember: true }
    case 'reject':
      return { granted: false }
    case 'reject-session':
      return { granted: false, remember: true }
    default:
      return { granted: false, reason: 'The client answered with an option that was not offered.' }
  }
}

/** Undefined: the client is gone, and the approval stays open. */
function refusalOf(error: unknown): Decided | 'cancelled' | undefined {
  if (!(error instanceof RequestError)) return undefined
  if (error.code === -32800) return 'cancelled'
  return { granted: false, reason: 'The client could not ask for permission.' }
}
