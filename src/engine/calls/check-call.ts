// The tool with which a model asks what became of a call that may have taken effect. A session offers it once it has such a call
// whose tool can say it.
import { checkCallName, type Outcome } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { InvalidInput, type Tool, type ToolOutput } from '../ports/index.ts'
import type { CallSession } from './call-session.ts'
import { engineTool } from './engine-tool.ts'
import { findReconciler, reconcileSettled } from './reconcile.ts'

/** Offers the tool once the session has a call to ask about. From then on it stays, so that requests do not change again. */
export function offerCheck(session: CallSession): void {
  const { doubts = {}, reconciled } = session.state
  if (reconciled || Object.values(doubts).some(name => findReconciler(session, name)))
    session.addTool(checkCallName, () => checkCallTool(session))
}

function checkCallTool(session: CallSession): Tool {
  return engineTool({
    name: checkCallName,
    description:
      'Finds out what became of an earlier tool call of which it is not known whether it took effect: one that ended as ' +
      'unknown, ran out of time, or was cancelled while it ran. Use it before you repeat such a call. It changes nothing.',
    input: {
      form: 'json',
      schema: {
        type: 'object',
        properties: { call: { type: 'string', description: 'The id of the call.' } },
        additionalProperties: false,
      },
    },
    kind: 'read',
    readOnly: true,
    run: (input, { callId }) => check(session, input, callId),
  })
}

async function check(session: CallSession, input: Json, told: string): Promise<ToolOutput> {
  const callId = chosen(session, isJsonObject(input) ? input['call'] : undefined)
  try {
    const found = await reconcileSettled(session, callId, { by: 'model', told })
    if (found === 'unknown')
      return text('It is still not known whether the call took effect. Do not repeat it.')
    if (found === 'did-not-run') return text('The call did not take effect. It may be made again.')
  } catch (error) {
    if (error instanceof TurnwireError && error.status < 500) throw new InvalidInput(error.message)
    throw error
  }
  const { outcome } = session.state.reconciled?.[callId] ?? {}
  return outcome ? found(outcome) : text('The call took effect.')
}

/** A model is not shown ids by every vendor: with one call in question, it need not name it. */
function chosen({ state }: CallSession, given: Json | undefined): string {
  const known = [...Object.keys(state.doubts ?? {}), ...Object.keys(state.reconciled ?? {})]
  if (typeof given === 'string' && given !== '') return given
  const [only] = known
  if (known.length === 1 && only !== undefined) return only
  throw new InvalidInput(
    `Name the call. There are: ${known
      .slice(-20)
      .map(id => nameIn(state, id))
      .join(', ')}.`,
  )
}

function nameIn({ doubts, reconciled }: CallSession['state'], id: string): string {
  return `${id} (${doubts?.[id] ?? reconciled?.[id]?.tool})`
}

function text(words: string): ToolOutput {
  return { parts: [{ type: 'text', text: words }] }
}

/** The tool's words about the call are data of this result, as the output of any tool is. */
function found({ kind, parts, structured }: Outcome): ToolOutput {
  const words = kind === 'ok' ? 'The call took effect. Its result:' : 'The call was carried out and failed:'
  return { parts: [{ type: 'text', text: words }, ...parts], ...(structured !== undefined && { structured }) }
}
