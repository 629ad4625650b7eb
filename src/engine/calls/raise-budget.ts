// The tool that asks a person whether a turn may go on although a budget is spent. Neither a model nor a program may call it: the
// loop does, between two steps. It is a call so that its question is durable, survives a restart, and is shown and answered as
// the questions of all calls are. A budget with approvers asks for the approval of the call, in place of a question: then only
// they decide, several of them where the budget wants it, as for any call that a rule restricts.
import { budgetToolName } from '../../language/calls.ts'
import { toolHash } from '../../language/tools.ts'
import { hashJson } from '../../lib/json/hash.ts'
import { isJsonObject, type Json, parseJson } from '../../lib/json/index.ts'
import { InvalidInput, type Tool, type ToolContext, type ToolOutput } from '../ports/index.ts'
import { type BudgetCall, budgetQuestion, budgetWords, decideBudget, type Reached } from '../rules/budgets.ts'
import { restrict } from '../rules/decide-call.ts'
import { findCall, findRequesters } from '../rules/state.ts'
import type { CallSession } from './call-session.ts'
import { engineTool } from './engine-tool.ts'

/** Offers the tool to the loop where a budget asks. */
export function offerBudgetTool(session: CallSession): void {
  const { budgets } = session.agent
  if (budgets && Object.values(budgets).some(({ then }) => then === 'ask'))
    session.addTool(budgetToolName, () => budgetTool(session))
}

function budgetTool(session: CallSession): Tool {
  return engineTool({
    name: budgetToolName,
    description: 'Asks a person whether the turn may go on although a budget is spent.',
    // What an approver writes has to name an amount. What else they change is not read.
    input: {
      form: 'json',
      schema: {
        type: 'object',
        properties: { more: { type: 'number', exclusiveMinimum: 0 } },
        required: ['more'],
      },
    },
    kind: 'other',
    readOnly: false,
    callers: [],
    outputLimit: 4 * 1024,
    run: (input, context) => askForMore(session, input, context),
  })
}

/** Makes the call. False: nobody can be asked in this turn, as another tool has its name or the client has all the tools. */
export function callBudgetTool(session: CallSession, reached: Reached): boolean {
  const { turn } = session.state
  const offered = session.offer.byName.get(budgetToolName)
  if (!turn || offered?.side !== 'server' || offered.tool.callers?.length !== 0) return false
  const { context } = session
  const at = context.now
  const { budget, key, limit, spent, of, more, approvers } = reached
  const args: BudgetCall = { budget, key, limit, spent, of, more }
  const callId = context.id('call')
  const call = {
    type: 'call' as const,
    id: callId,
    name: budgetToolName,
    form: 'json' as const,
    text: JSON.stringify(args),
  }
  const judged = { at, callId, toolHash: toolHash(offered.tool), rule: budgetToolName }
  const asked = { ...judged, argsHash: hashJson(args), reason: budgetWords(args, session.agent.name) }
  session.record([
    { v: 1, at, type: 'call.nested', parent: turn.id, key: callId, call },
    approvers
      ? restrict({ type: 'approval.requested', ...asked }, approvers, findRequesters(session.state))
      : { v: 1, type: 'call.allowed', ...judged },
  ])
  return true
}

async function askForMore(
  session: CallSession,
  input: Json,
  { callId, ask }: Pick<ToolContext, 'callId' | 'ask'>,
): Promise<ToolOutput> {
  const { state, agent } = session
  const call = findCall(state, callId)
  if (!isJsonObject(input) || !call || !state.turn || call.parent !== state.turn.id)
    throw new InvalidInput('Only the loop of a turn may call this tool.')
  // The loop wrote it, as the parent shows. Of the arguments an approver may change how much more.
  const reached = parseJson(call.part.text) as unknown as BudgetCall
  const answered = async () => {
    const answer = await ask(budgetQuestion(reached, agent.name), { key: 'budget' })
    return answer.action === 'accept' ? (answer.content?.['more'] ?? reached.more) : undefined
  }
  const wanted = call.approval?.by !== undefined ? input['more'] : await answered()
  const more = typeof wanted === 'number' && wanted > 0 ? wanted : undefined
  session.record([decideBudget(callId, reached, more, session.context)])
  const text = more === undefined ? 'The turn ends.' : 'The turn goes on.'
  return { parts: [{ type: 'text', text }] }
}
