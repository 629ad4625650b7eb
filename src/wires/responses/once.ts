// A response that is not kept: what it reads, what the model is asked, and how the answer is encoded. The same for HTTP and
// for WebSockets.
import type { OnceRequest } from '../../engine/index.ts'
import type { Entry } from '../../language/history.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import { randomIds } from '../../lib/text/random.ts'
import type { WireHost } from '../host.ts'
import { modelInfo, summarising } from '../stateless/index.ts'
import type { ResponsesCaller } from './caller.ts'
import { decodeRequest, protocol, type ResponsesRequest, wireName } from './decode.ts'
import { decodeHistory, decodeItems, type InputItem } from './decode-items.ts'
import { type EncoderOptions, ResponseEncoder } from './encode.ts'
import { calledIn, requestFields } from './encode-response.ts'
import { resolveReferences } from './references.ts'
import { type Repeated, splitInput } from './same-session.ts'
import { sealAnswer, sealedSummaries } from './sealed.ts'
import { previousResponse } from './stored.ts'
import { lastRead } from './stored-log.ts'

export type ReadInput = { items: InputItem[]; repeated: Repeated | undefined }

export async function readItems(
  caller: ResponsesCaller,
  { agent, model, input = [] }: Pick<ResponsesRequest, 'agent' | 'model' | 'input'>,
): Promise<ReadInput> {
  if (typeof input === 'string')
    return { items: [{ kind: 'user', parts: [{ type: 'text', text: input }] }], repeated: undefined }
  const whole = await resolveReferences(caller, input)
  const { origin } = (model === undefined ? agent.model : modelInfo(caller.host.about, model)) ?? {}
  const items = decodeItems(whole, {
    images: agent.images,
    sealedFor: caller,
    ...(origin?.protocol === protocol && { origin }),
  })
  return { items: items.flat(), repeated: splitInput(whole, items) }
}

/** The input, after all that the response before it had read and said. */
export async function readHistory(
  caller: ResponsesCaller,
  previous: string | undefined,
  items: readonly InputItem[],
): Promise<Entry[]> {
  if (previous === undefined) return decodeHistory(items)
  const response = await previousResponse(caller, previous)
  const { entries, calls } = await caller.engine.history(response.ref, {
    get: 'view',
    upTo: lastRead(response),
  })
  return [...entries, ...decodeHistory(items, calls)]
}

export type PreparedOnce = { once: Omit<OnceRequest, 'deltas'>; options: EncoderOptions }

/** `id`: names the response. */
export function prepareOnce(
  caller: ResponsesCaller,
  request: ResponsesRequest,
  history: Entry[],
  id: string,
): PreparedOnce {
  const { agent, model, clientTools, ask, note, compacts } = request
  const named = model === undefined ? {} : { model }
  const settings = { clientTools, ...named, wires: { [wireName]: note } }
  const options: EncoderOptions = {
    place: { session: id, first: 1 },
    agent: agent.name,
    createdAt: Date.now(),
    request: requestFields(agent, settings, ask),
    called: calledIn(note),
    now: Date.now,
    ...(request.carriesSealed && { seal: answer => sealAnswer(answer, caller) }),
    ...(compacts && { compact: summary => sealedSummaries.seal({ summary }, caller) }),
  }
  const once = { owner: caller.owner, agent: agent.name, ...named, clientTools, ask, history }
  return { once: compacts ? summarising(once) : once, options }
}

/** Answers with the only agent of the host, for a caller without a connection. Gives the events of one response. */
export function answerWithEvents(
  host: WireHost,
  owner: string,
): (body: JsonObject, signal: AbortSignal) => AsyncIterable<JsonObject> {
  const newId = randomIds()
  const engine = host.engineFor({ owner })
  const caller = { host, engine, owner, name: owner }
  return async function* (body, signal) {
    const about = { agents: host.about.agents.slice(0, 1), models: {} }
    const asked = { ...body, model: 'default', store: false, stream: true }
    const request = decodeRequest({ about, serverTools: new Set() }, asked, undefined)
    const { items } = await readItems(caller, request)
    const { once, options } = prepareOnce(caller, request, decodeHistory(items), newId('sess'))
    const encoder = new ResponseEncoder({ ...options, after: -1, form: 'lines' })
    yield* parseEvents(encoder.begin())
    for await (const batch of engine.answerOnce({ ...once, deltas: 'fail' }, signal))
      for (const item of batch) yield* parseEvents(encoder.take(item))
    yield* parseEvents(encoder.end())
  }
}

function* parseEvents(lines: string): Iterable<JsonObject> {
  for (const line of lines.split('\n')) {
    const event: unknown = line === '' ? undefined : JSON.parse(line)
    if (isJsonObject(event)) yield event
  }
}
