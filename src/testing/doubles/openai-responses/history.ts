/**
 * How the items of a conversation must hang together: calls with their outputs, ids that occur
 * once, reasoning with what it led to, programs with their callers, and the order of
 * what the model said. Items by themselves are judged in `responses-items.ts`.
 */
import { absent, isObject, type Json, refuse, textOf, wrongType } from '../openai/refusals.ts'
import type { Mode, Rejection } from '../script.ts'
import { chainItems, openReasoning, type ResponsesMemory } from './memory.ts'
import { checkItem, isModelOutput, kindOf } from './messages.ts'

/** Calls that someone outside the model answers: the output's type and the word for it in refusals. */
const PAIRS: Record<string, { output: string; noun: string }> = {
  function_call: { output: 'function_call_output', noun: 'function call' },
  custom_tool_call: { output: 'custom_tool_call_output', noun: 'custom tool call' },
  computer_call: { output: 'computer_call_output', noun: 'computer call' },
  local_shell_call: { output: 'local_shell_call_output', noun: 'local shell call' },
  shell_call: { output: 'shell_call_output', noun: 'shell call' },
  apply_patch_call: { output: 'apply_patch_call_output', noun: 'apply patch call' },
  tool_search_call: { output: 'tool_search_output', noun: 'tool search call' },
}

type Reading = {
  memory: ResponsesMemory
  organisation: string | null
  /** Measured leniency of stateless requests: dangling and repeated encrypted reasoning passes. */
  lax: boolean
  /** What earlier responses hold, then this request's own items; references are resolved. */
  chain: Json[]
  own: { item: Json; path: string }[]
  /** The request builds on a response that this memory has not seen and was told to trust. */
  unseen: boolean
}

export function checkInput(
  body: Json,
  memory: ResponsesMemory,
  mode: Mode,
  organisation: string | null,
): Rejection[] {
  const input = body['input']
  if (!absent(input) && typeof input !== 'string' && !Array.isArray(input)) {
    return [wrongType('R-00', 'input', 'one of a string or array of items', input)]
  }
  const items: unknown[] = Array.isArray(input) ? input : []
  const shape = items.flatMap((item, at) => checkItem(item, `input[${at}]`))
  const previous = body['previous_response_id']
  const reading: Reading = {
    memory,
    organisation,
    lax: mode === 'lenient' && body['store'] === false,
    chain: chainItems(memory, previous),
    unseen: memory.trustForeign && !absent(previous) && !memory.responses.has(textOf(previous)),
    own: items.flatMap((item, at) =>
      isObject(item) ? [{ item: resolved(memory, item), path: `input[${at}]` }] : [],
    ),
  }
  return [
    ...shape,
    ...checkReferences(reading),
    ...checkSeals(reading),
    ...checkDuplicates(reading),
    ...checkReasoning(reading),
    ...checkPairs(reading),
    ...checkPrograms(reading),
    ...checkApprovals(reading),
    ...checkEcho(reading),
  ]
}

function resolved(memory: ResponsesMemory, item: Json): Json {
  if (kindOf(item) !== 'item_reference') return item
  const issued = memory.issued.get(textOf(item['id']))
  return issued?.stored === true ? issued.item : item
}

/** what is named but not sent must have been stored. */
function checkReferences({ own, memory }: Reading): Rejection[] {
  return own.flatMap(({ item }) => {
    const id = textOf(item['id'])
    const named =
      kindOf(item) === 'item_reference' ||
      (kindOf(item) === 'reasoning' && absent(item['encrypted_content']) && !absent(item['id']))
    if (!named || memory.trustForeign || memory.issued.get(id)?.stored === true) return []
    const message = `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
    return [refuse('R-07', message, 'input', null, 404)]
  })
}

/** encrypted content is whole, and was made for this item and this caller. */
function checkSeals({ own, memory, organisation }: Reading): Rejection[] {
  return own.flatMap(({ item }) => {
    const token = item['encrypted_content']
    if (kindOf(item) !== 'reasoning' || typeof token !== 'string') return []
    const id = textOf(item['id'])
    const scripted = memory.scriptedTokens.get(token)
    const sealed = scripted === undefined ? openReasoning(token) : { item: scripted, organisation }
    if (sealed === null) {
      return memory.trustForeign
        ? []
        : [unverified(id, 'Encrypted content could not be decrypted or parsed.')]
    }
    if (sealed.item !== id) {
      return [unverified(id, 'Encrypted content item_id did not match the target item id.')]
    }
    const foreign =
      sealed.organisation !== null && organisation !== null && sealed.organisation !== organisation
    return foreign
      ? [unverified(id, 'Encrypted content organization_id did not match the target organization.')]
      : []
  })
}

function unverified(id: string, reason: string): Rejection {
  const message = `The encrypted content for item ${id} could not be verified. Reason: ${reason}`
  return refuse('R-08', message, null, 'invalid_encrypted_content')
}

function checkDuplicates({ own, chain, lax }: Reading): Rejection[] {
  const seen = new Set(chain.map(item => item['id']))
  return own.flatMap(({ item }) => {
    const id = item['id']
    if (typeof id !== 'string') return []
    const repeated = seen.has(id)
    seen.add(id)
    if (!repeated || (lax && typeof item['encrypted_content'] === 'string')) return []
    const message = `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`
    return [refuse('R-03', message, 'input')]
  })
}

/** R-06, both ways: reasoning needs what it led to, and what it led to needs the reasoning. */
function checkReasoning({ own, chain, memory, lax }: Reading): Rejection[] {
  const before = new Set(chain.map(item => item['id']))
  return own.flatMap(({ item }, at) => {
    const id = textOf(item['id'])
    before.add(item['id'])
    const kind = kindOf(item)
    if (kind === 'reasoning') {
      if ((lax && typeof item['encrypted_content'] === 'string') || isFollowed(own, at)) return []
      const message = `Item '${id}' of type 'reasoning' was provided without its required following item.`
      return [refuse('R-06', message, 'input')]
    }
    const issued = memory.issued.get(id)
    if (issued?.stored !== true || issued.reasoning === null) return []
    const direct = kind === 'web_search_call' && issued.adjacent
    const previous = own[at - 1]?.item ?? chain.at(-1)
    if (direct ? previous?.['id'] === issued.reasoning : before.has(issued.reasoning)) return []
    const message = `Item '${id}' of type '${kind}' was provided without its required 'reasoning' item: '${issued.reasoning}'.`
    return [refuse('R-06', message, 'input')]
  })
}

function isFollowed(own: Reading['own'], at: number): boolean {
  let next = at + 1
  while (own[next] !== undefined && kindOf(own[next]!.item) === 'reasoning') next += 1
  const item = own[next]?.item
  return item !== undefined && isModelOutput(item)
}

/** over the whole conversation; only this request's items are to blame for an orphan. */
function checkPairs({ own, chain, unseen }: Reading): Rejection[] {
  const open = new Map<string, { call: Json; noun: string }>()
  const orphans: Rejection[] = []
  const read = (item: Json, mine: boolean) => {
    const kind = kindOf(item)
    const pair = PAIRS[kind]
    const id = callIdOf(item)
    if (pair !== undefined && asksCaller(item))
      open.set(`${pair.output}:${id}`, { call: item, noun: pair.noun })
    const answers = Object.values(PAIRS).find(({ output }) => output === kind)
    if (answers === undefined || absent(item['call_id'] ?? item['id']) || open.delete(`${kind}:${id}`)) return
    if (!mine || unseen || (kind === 'tool_search_output' && item['execution'] !== 'client')) return
    const message = `No tool call found for ${answers.noun} output with call_id ${id}.`
    orphans.push(refuse('R-02', message, 'input'))
  }
  for (const item of chain) read(item, false)
  for (const { item } of own) read(item, true)
  const silent = [...open.values()].filter(({ call }) => call['async'] !== true)
  return [
    ...orphans,
    ...silent.map(({ call, noun }) =>
      refuse('R-01', `No tool output found for ${noun} ${callIdOf(call)}.`, 'input'),
    ),
  ]
}

/** Local shell outputs name the call by `id`; everything else has a `call_id`. */
function callIdOf(item: Json): string {
  return textOf(item['call_id'] ?? item['id'])
}

/** A search that the server carries out itself, and a container's shell, want nothing from the caller. */
function asksCaller(item: Json): boolean {
  return kindOf(item) !== 'tool_search_call' || item['execution'] === 'client'
}

function checkPrograms({ own, chain, memory, unseen }: Reading): Rejection[] {
  const programs = new Set<unknown>()
  const callers = new Map<string, unknown>()
  const found: Rejection[] = []
  for (const { item, path } of [...chain.map(item => ({ item, path: '' })), ...own]) {
    const kind = kindOf(item)
    const caller = isObject(item['caller']) ? item['caller'] : undefined
    if (kind === 'program') {
      programs.add(item['call_id'])
      const known = memory.issued.get(textOf(item['id']))?.item['fingerprint']
      if (known !== undefined && known !== item['fingerprint']) {
        const message = `The fingerprint of program ${textOf(item['id'])} could not be verified.`
        found.push(refuse('program', message, `${path}.fingerprint`, 'invalid_value'))
      }
    } else if (PAIRS[kind] !== undefined && caller?.['type'] === 'program') {
      callers.set(callIdOf(item), caller['caller_id'])
      if (!unseen && !programs.has(caller['caller_id'])) {
        const message = `No program found for ${PAIRS[kind].noun} ${callIdOf(item)} with caller_id ${textOf(caller['caller_id'])}.`
        found.push(refuse('program', message, 'input'))
      }
    } else if (callers.has(callIdOf(item)) && caller?.['caller_id'] !== callers.get(callIdOf(item))) {
      const message = `The output of call ${callIdOf(item)} must carry the caller of its call.`
      found.push(refuse('program', message, `${path}.caller`, 'invalid_value'))
    }
  }
  return found
}

function checkApprovals({ own, chain, unseen }: Reading): Rejection[] {
  const asked = new Set<unknown>()
  for (const item of [...chain, ...own.map(({ item }) => item)]) {
    if (kindOf(item) === 'mcp_approval_request') asked.add(item['id'])
  }
  return own.flatMap(({ item }) => {
    if (kindOf(item) !== 'mcp_approval_response' || unseen) return []
    if (asked.has(item['approval_request_id'])) return []
    const message = `No approval request found with id ${textOf(item['approval_request_id'])}.`
    return [refuse('mcp-approval', message, 'input')]
  })
}

/**
 * The API itself stays silent when an echo is reordered or loses its phase, and answers worse; so this
 * is the double's own complaint, in a status that no SDK retries.
 */
function checkEcho({ own, memory }: Reading): Rejection[] {
  const last = new Map<string, number>()
  return own.flatMap(({ item, path }) => {
    const issued = memory.issued.get(textOf(item['id']))
    if (issued === undefined) return []
    const earlier = last.get(issued.response) ?? -1
    last.set(issued.response, issued.position)
    const phase = issued.item['phase']
    if (earlier > issued.position) return [unfaithful(path, 'stands in another order than it was given in')]
    if (!absent(phase) && item['phase'] !== phase)
      return [unfaithful(path, `lost its phase '${textOf(phase)}'`)]
    return []
  })
}

function unfaithful(path: string, how: string): Rejection {
  const message = `${path} ${how}: echo output items as they came.`
  return { rule: 'R-14', status: 422, type: 'double_harness_error', message, param: path, code: null }
}
