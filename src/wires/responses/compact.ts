// Compacts a whole conversation into the user's messages and a sealed summary of the rest. Also estimates the tokens of
// a request. Neither stores anything.
import type { Context } from 'hono'
import { missingParameter, refuseParameter } from '../../apis/openai/refusal.ts'
import type { Engine, OnceAnswer } from '../../engine/index.ts'
import { joinText } from '../../language/content.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Entry } from '../../language/history.ts'
import { isAbsent, names } from '../../lib/json/fields.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import type { WireEnv } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { clientGone } from '../http/stream.ts'
import { estimateTokens } from '../stateless/index.ts'
import type { ResponsesCaller } from './caller.ts'
import { openConversation, readConversation } from './conversations.ts'
import { decodeRequest } from './decode.ts'
import { decodeHistory, type InputItem } from './decode-items.ts'
import { encodeUsage } from './encode-response.ts'
import { idStem } from './ids.ts'
import { encodeInputItems } from './item-lists.ts'
import { prepareOnce, readHistory, readItems } from './once.ts'
import { sealedSummaries } from './sealed.ts'
import { field } from './wordings.ts'

const compactFields = names(
  'model input previous_response_id instructions prompt_cache_key prompt_cache_options prompt_cache_retention service_tier agent_id',
)

export async function compactConversation(
  c: Context<WireEnv>,
  caller: ResponsesCaller,
  newId: (prefix: string) => string,
): Promise<Response> {
  const { host, engine } = caller
  const body = await readJsonObject(c, host.limits)
  field.onlyKnown(body, compactFields, '')
  if (isAbsent(body['model']) && isAbsent(body['agent_id'])) throw missingParameter('model')
  if (isAbsent(body['input']) && isAbsent(body['previous_response_id']))
    refuseParameter(
      'One of "input" or "previous_response_id" must be provided.',
      'input',
      'missing_required_parameter',
    )
  const asked = decodeRequest(host, { ...body, store: false }, undefined)
  const { items } = await readItems(caller, asked)
  const history = await readHistory(caller, asked.previous, items)
  const session = newId('sess')
  const { once } = prepareOnce(caller, { ...asked, compacts: true }, history, session)
  const answer = await readAnswer(engine.answerOnce({ ...once, deltas: 'none' }, clientGone(c)))
  if (!answer) return c.body(null)
  const summary = joinText(answer.parts)
  if (summary === '') throw new TurnwireError('model_failed', 'The model gave no summary. Try again.')
  const encrypted_content = sealedSummaries.seal({ summary }, caller)
  return sendJson(c, {
    id: `resp_${idStem(session)}`,
    object: 'response.compaction',
    created_at: Math.floor(Date.now() / 1000),
    output: [
      ...encodeInputItems(
        session,
        history.filter(({ role }) => role === 'user'),
      ),
      { type: 'compaction', id: `cmp_${idStem(session)}_0_0_0`, encrypted_content },
    ],
    usage: encodeUsage(answer.usage ?? { input: 0, output: 0 }),
  })
}

async function readAnswer(items: ReturnType<Engine['answerOnce']>): Promise<OnceAnswer | undefined> {
  for await (const batch of items) for (const item of batch) if (item.type === 'answer') return item.answer
  return undefined
}

const countFields = names(
  'model input instructions previous_response_id conversation tools tool_choice parallel_tool_calls reasoning text truncation personality agent_id',
)

export async function countInputTokens(c: Context<WireEnv>, caller: ResponsesCaller): Promise<Response> {
  const { host } = caller
  const { personality: _, ...body } = await readJsonObject(c, host.limits)
  field.onlyKnown(body, countFields, '')
  const [first] = host.about.agents
  const given: JsonObject = { ...body, ...(isAbsent(body['model']) && { model: first?.name ?? '' }) }
  const asked = decodeRequest(host, given, undefined, true)
  const { items } = await readItems(caller, asked)
  const history =
    asked.conversation === undefined
      ? await readHistory(caller, asked.previous, items)
      : await conversationHistory(caller, asked.conversation, items)
  const { agent, ask, clientTools } = asked
  const input_tokens = estimateTokens({ agent: agent.name, history, ask, clientTools }, agent.system)
  return sendJson(c, { object: 'response.input_tokens', input_tokens })
}

async function conversationHistory(
  caller: ResponsesCaller,
  id: string,
  items: readonly InputItem[],
): Promise<Entry[]> {
  const { entries, calls } = await readConversation(await openConversation(caller, id))
  return [...entries, ...decodeHistory(items, calls)]
}
