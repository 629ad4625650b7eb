// Gemini Interactions as a protocol. By default nothing is kept by the vendor: all steps are sent, thoughts in their
// places. A stateful target goes on from the last interaction where that is sound; tools, instructions and settings
// are sent every time either way. The body is put together here; steps and answers are in the files beside this one.
//
// Quirks: `no-thought-signatures` treats a model as older than version 3 whatever it is called.

import type { ModelRequest } from '../../../engine/ports.ts'
import type { Origin } from '../../../language/content.ts'
import type { Entry } from '../../../language/history.ts'
import type { Json, JsonObject } from '../../../lib/json.ts'
import { wireJson } from '../../common/artifacts.ts'
import { geminiJson } from '../../common/schema-dialect.ts'
import { type IdRule, type WireIds, wireIds } from '../../common/wire-ids.ts'
import { toolNames, type WireNames } from '../../common/wire-names.ts'
import type { Failure, Protocol, Target } from '../../protocol.ts'
import { objectOf, readingIn, readingOf, type Sent, statusFailure } from '../google/decode.ts'
import {
  choiceOf,
  type Declared,
  declareTools,
  instructions,
  isOlder,
  leadingSystem,
  nameRule,
  takesNothing,
} from '../google/encode.ts'
import { digestHistory, keptInteraction } from './continuity.ts'
import { haltAnswer, type InteractionReading, initialState, type State, stepAnswer } from './decode.ts'
import { encodeSteps, tokenOf } from './encode.ts'

export type { State } from './decode.ts'

const PROTOCOL = 'gemini-interactions'
/** Ids are opaque to the service; what it once gave goes back as it came. */
const idRule: IdRule = { pattern: /^[\x21-\x7e]+$/, maxLength: 1024 }

export const geminiInteractions: Protocol<State> = {
  name: PROTOCOL,
  prepare,
  initial: prepared => initialState(readingIn<InteractionReading>(prepared)),
  step: stepAnswer,
  halt: haltAnswer,
  failure,
}

function prepare(request: ModelRequest, target: Target): Sent<InteractionReading> {
  const warnings: string[] = []
  const warn = (text: string): void => {
    if (!warnings.includes(text)) warnings.push(text)
  }
  const origin: Origin = { protocol: PROTOCOL, family: target.family }
  const names = toolNames(request.tools, nameRule)
  const declared = declareTools(request.tools, names, geminiJson, warn)
  const leading = leadingSystem(request.history)
  const spoken = request.history.slice(leading)
  const ids = wireIds(spoken, origin, idRule)
  const plan = planOf(spoken, target, origin, ids)
  const speaker = { origin, names, ids, older: isOlder(target), warn }
  const { steps, encoded, hasResults } = encodeSteps(spoken, plan, speaker)
  if (!request.parallel && declared.length > 0)
    warn('Gemini has no switch for one call at a time: only the first call of its answer is kept.')
  const system = instructions(request.system, request.history, leading)
  const { input: _, previous_interaction_id: __, background: ___, ...own } = target.body
  const fields: JsonObject = {
    ...own,
    model: target.model,
    ...(system.length > 0 && { system_instruction: system.join('\n\n') }),
    ...toolFields(request, declared, target, names, hasResults ? calledNames(spoken, names) : [], warn),
    ...plan.fields,
    store: target.stateful,
    stream: true,
  }
  return {
    path: '/interactions',
    headers: {},
    // Steps are JSON text already; only what changes from request to request is written anew.
    body: plan.silent ? wireJson(fields) : `${wireJson(fields).slice(0, -1)},"input":[${steps}]}`,
    warnings,
    names: names.fromWire,
    leans: 'previous_interaction_id' in plan.fields,
    encoded,
    reading: {
      ...readingOf(request.tools, names, origin, !request.parallel),
      seen: target.stateful ? digestHistory(spoken) : '',
      stored: target.stateful,
    },
  }
}

type Plan = { from: number; to: number; open: boolean; silent: boolean; fields: JsonObject }

/** Which entries are sent, and what stands for the others. */
function planOf(spoken: readonly Entry[], target: Target, origin: Origin, ids: WireIds): Plan {
  const end = spoken.length
  const token = tokenOf(spoken.at(-1), origin)
  const at = spoken.findLastIndex(entry => entry.role === 'assistant')
  const resumes = target.stateful && !target.forgotten
  const kept = resumes ? keptInteraction(spoken, at, origin, ids) : undefined
  if (token !== '') {
    if (kept !== undefined) {
      const fields = { previous_interaction_id: kept, continuation_token: token }
      return { from: end, to: end, open: true, silent: true, fields }
    }
    // The vendor keeps nothing: the question is sent again, without what it has been answered so far.
    let to = end
    while (to > 0 && tokenOf(spoken[to - 1], origin) !== '') to--
    return { from: 0, to, open: true, silent: false, fields: { continuation_token: token } }
  }
  if (kept === undefined || at === end - 1)
    return { from: 0, to: end, open: false, silent: false, fields: {} }
  return { from: at + 1, to: end, open: false, silent: false, fields: { previous_interaction_id: kept } }
}

function calledNames(spoken: readonly Entry[], names: WireNames): string[] {
  const called = new Set<string>()
  for (const entry of spoken)
    if (entry.role === 'tool') for (const result of entry.results) called.add(names.toWire(result.name))
  return [...called]
}

/** `called`: the tools that results are sent of. Without any tool the service refuses results. */
function toolFields(
  request: ModelRequest,
  declared: readonly Declared[],
  target: Target,
  names: WireNames,
  called: readonly string[],
  warn: (text: string) => void,
): JsonObject {
  const choice = choiceOf(
    request.choice,
    declared.map(one => one.tool),
    names,
  )
  if (choice?.warning !== undefined) warn(choice.warning)
  const tools: Json[] = declared.map(({ wire, description, schema }) => ({
    type: 'function',
    name: wire,
    description,
    ...(!takesNothing(schema) && { parameters: schema }),
  }))
  tools.push(...target.hosted)
  const gone = tools.length === 0 ? called : []
  for (const name of gone) tools.push({ type: 'function', name, description: 'No longer available.' })
  const mode = gone.length > 0 ? 'none' : choice?.mode
  const asked: Json | undefined = choice?.only
    ? { allowed_tools: { mode: choice.mode, tools: choice.only } }
    : mode
  // A limit that is no positive number is not said: the model has its own.
  const most = request.maxTokens ?? (target.maxTokens > 0 ? target.maxTokens : undefined)
  const generation_config: JsonObject = {
    ...objectOf(target.body['generation_config']),
    ...(most !== undefined && { max_output_tokens: most }),
    // `auto` is what the service does unasked.
    ...(asked !== undefined && asked !== 'auto' && { tool_choice: asked }),
  }
  return {
    ...(tools.length > 0 && { tools }),
    ...(Object.keys(generation_config).length > 0 && { generation_config }),
  }
}

/** What is gone is not found; the service words most of its refusals alike, so the words decide among those. */
function failure(status: number, headers: Headers, body: Json | string): Failure {
  const said = statusFailure(status, headers, body)
  const gone = status === 404 || (status === 400 && /previous[_ ]interaction/i.test(said.message))
  return gone ? { ...said, forgotten: true } : said
}
