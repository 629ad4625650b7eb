// Approvals, as the client is asked for them: one open request per call, answered once. A decision on another wire
// withdraws the request. If the client goes away, the approval stays in the store.
import { RequestError } from '@agentclientprotocol/sdk'
import type { GivenDecision } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { printable } from '../../lib/text/index.ts'
import type { AgentGrants } from './agent-grants.ts'
import { decodePermission, type PermissionAnswer } from './decode.ts'
import { textContent, type WaitingApproval } from './encode-calls.ts'
import type { SessionContext } from './host.ts'
import { OpenRequests } from './open-requests.ts'

export class Permissions extends OpenRequests {
  readonly #grants: AgentGrants
  readonly #cancelTurn: () => void
  /** By call: what was decided here, as `shownHash` says. While others have to decide too, it is not asked again about the same. */
  readonly #given = new Map<string, string>()
  /** By call: what the client was asked about last. */
  readonly #shown = new Map<string, string>()

  /** `cancelTurn`: the client answered that the whole turn is cancelled. */
  constructor(context: SessionContext, grants: AgentGrants, cancelTurn: () => void) {
    super(context)
    this.#grants = grants
    this.#cancelTurn = cancelTurn
  }

  /** Asks about each call that is not asked about yet. A request that shows other arguments than it has now is withdrawn. */
  ask(approvals: readonly WaitingApproval[]): void {
    for (const approval of approvals) {
      const { callId } = approval
      const shown = shownHash(approval)
      if (this.#given.get(callId) === shown) continue
      if (this.#shown.get(callId) !== shown) this.withdraw(callId)
      this.#shown.set(callId, shown)
      this.open(callId, 'A permission could not be settled.', async (signal, isOpen) => {
        const answer = await this.#request(approval, signal)
        if (!isOpen()) return
        this.close(callId)
        if (answer === 'cancelled') this.#cancelTurn()
        else if (answer) await this.#decide(approval, answer)
      })
    }
  }

  /** Undefined: the client is gone. */
  async #request(
    { callId, fields, content, elsewhere }: WaitingApproval,
    signal: AbortSignal,
  ): Promise<PermissionAnswer | 'cancelled' | undefined> {
    const { peer, ref } = this.context
    const sessionId = ref.session
    const forAgent = this.#grants.isOffered && !elsewhere
    const options = permissionOptions(printable(fields.name, 60), forAgent)
    const toolCall = {
      toolCallId: callId,
      status: 'pending' as const,
      ...fields,
      ...(content.length > 0 && { content }),
    }
    try {
      const { outcome } = await peer.askPermission({ sessionId, toolCall, options }, signal)
      return decodePermission(outcome, options)
    } catch (error) {
      if (!(error instanceof RequestError)) return undefined
      if (error.code === requestCancelled) return 'cancelled'
      return { granted: false, reason: 'The client could not ask for permission.' }
    }
  }

  async #decide(approval: WaitingApproval, { forAgent, ...answer }: PermissionAnswer): Promise<void> {
    const { callId, argsHash, toolHash, name } = approval
    const by = this.context.host.principal.name
    try {
      await this.#respond({ callId, by, seen: argsHash, ...answer })
      this.#given.set(callId, shownHash(approval))
      if (!forAgent) return
      await this.#grants.give({ tool: name, toolHash, by })
      await this.#grants.apply()
    } catch (error) {
      if (!(error instanceof TurnwireError)) throw error
      if (error.code === 'approval_expired')
        await this.#respond({ callId, by, granted: false, reason: 'The approval came too late.' })
      else if (error.code === 'not_approver') this.#refused(approval, error.message)
      else if (!decidedElsewhere.has(error.code)) throw error
    }
  }

  /** The call waits on, for someone who may. An answer to a request has no answer itself, so the call says it. */
  #refused(approval: WaitingApproval, words: string): void {
    const { callId, content } = approval
    this.#given.set(callId, shownHash(approval))
    const { peer, ref } = this.context
    peer.update(ref.session, {
      sessionUpdate: 'tool_call_update',
      toolCallId: callId,
      status: 'pending',
      content: [...content, textContent(words)],
    })
  }

  #respond(decision: GivenDecision): Promise<unknown> {
    const { host, ref } = this.context
    return host.engine.command(ref, { do: 'respond', results: [], decisions: [decision] })
  }
}

const requestCancelled = -32800

/** The first decision stands. */
const decidedElsewhere = new Set(['already_decided', 'call_settled', 'unknown_call', 'stale_approval'])

function permissionOptions(tool: string, forAgent: boolean) {
  const further = `every further call of ${tool} in this session`
  const always = `Allow, and every further call of ${tool} in all sessions of this agent`
  return [
    { optionId: 'allow', name: 'Allow this call', kind: 'allow_once' as const },
    { optionId: 'allow-session', name: `Allow, and ${further}`, kind: 'allow_always' as const },
    ...(forAgent ? [{ optionId: 'allow-agent', name: always, kind: 'allow_always' as const }] : []),
    { optionId: 'reject', name: 'Reject this call', kind: 'reject_once' as const },
    { optionId: 'reject-session', name: `Reject, and ${further}`, kind: 'reject_always' as const },
  ]
}

/** The definition of the tool and the arguments: if either is another, it is another question. */
function shownHash({ toolHash, argsHash }: Pick<WaitingApproval, 'toolHash' | 'argsHash'>): string {
  return `${toolHash} ${argsHash}`
}
