// Repairs of Anthropic Messages requests, one per rule. Each changes only what its rules refuse.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { anthropicPlain } from '../common/schema-dialect.ts'
import { anthropicExtras, unavailableTool } from './anthropic-extras.ts'
import { NO_RESULT, type PairItem, pairCalls, separateNested } from './pairing.ts'
import { fixPictures } from './pictures.ts'
import {
  addModel,
  asObject,
  asText,
  blocksIn,
  type FieldRef,
  type Finding,
  fieldRef,
  fixSurrogates,
  isBlank,
  makeId,
  messagesIn,
  objectsOf,
  quoted,
  type Repair,
  type Report,
  removeAt,
  renameCallIds,
  withDefaultReport,
} from './repair.ts'
import {
  declarationFields,
  emptySchema,
  inDialect,
  readChoice,
  renameTools,
  rewriteChoice,
  rewriteTools,
  withoutDuplicates,
} from './tools.ts'

const VALID = /^[a-zA-Z0-9_-]+$/

const isToolUse = (block: JsonObject): boolean => block['type'] === 'tool_use'
const isToolResult = (block: JsonObject): boolean => block['type'] === 'tool_result'
const toolUses = (body: JsonObject): JsonObject[] => messagesIn(body).flatMap(blocksIn).filter(isToolUse)
const textBlock = (text: string): JsonObject => ({ type: 'text', text })

// ---- the conversation --------------------------------------------------------------------------------------

function moveSystem(body: JsonObject, report: Report): void {
  const leading: Json[] = []
  const rest: Json[] = []
  for (const message of messagesIn(body)) {
    if (message['role'] !== 'system' && message['role'] !== 'developer') {
      const known = message['role'] === 'assistant' || message['role'] === 'user'
      rest.push(known ? message : { ...message, role: 'user' })
      if (!known) report(`Changed the role ${quoted(asText(message['role']))} to user.`)
    } else if (rest.length === 0) leading.push(...contentBlocks(message))
    else {
      report('Turned a system message inside the conversation into a user message.')
      rest.push({ role: 'user', content: contentBlocks(message) })
    }
  }
  body['messages'] = rest
  if (leading.length === 0) return
  const own = body['system']
  const before = typeof own === 'string' ? [textBlock(own)] : objectsOf(own)
  body['system'] = [...before, ...leading]
  report('Moved the system message into the `system` field.')
}

const contentBlocks = ({ content }: JsonObject): JsonObject[] =>
  typeof content === 'string' ? [textBlock(content)] : objectsOf(content)

type PlacedBlock = { block: JsonObject; role: string; message: JsonObject }

function pairResults(body: JsonObject, report: Report): void {
  const items = messagesIn(body).flatMap(message =>
    contentBlocks(message).map(block => pairItemOf({ block, role: asText(message['role']), message })),
  )
  const paired = pairCalls(
    items,
    {
      makeResult: ({ id }) => {
        const block = { type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true }
        return { block, role: 'user', message: {} }
      },
    },
    report,
  )
  body['messages'] = grouped(paired.map(({ value }) => value))
}

function pairItemOf(value: PlacedBlock): PairItem<PlacedBlock> {
  const { block, role } = value
  if (isToolUse(block))
    return {
      kind: 'call',
      id: asText(block['id']),
      name: asText(block['name']),
      value: { ...value, role: 'assistant' },
    }
  if (isToolResult(block))
    return { kind: 'result', id: asText(block['tool_use_id']), value: { ...value, role: 'user' } }
  return { kind: role === 'assistant' ? 'said' : 'given', value }
}

/** Blocks as messages again. A message whose blocks are unchanged keeps its own form. */
function grouped(placed: readonly PlacedBlock[]): Json[] {
  const messages: { role: string; blocks: JsonObject[]; from: Set<JsonObject> }[] = []
  for (const { block, role, message } of placed) {
    const last = messages.at(-1)
    if (last?.role === role) {
      last.blocks.push(block)
      last.from.add(message)
    } else messages.push({ role, blocks: [block], from: new Set([message]) })
  }
  return messages.map(({ role, blocks, from }) => {
    const [only] = from
    const same = from.size === 1 && only !== undefined && only['role'] === role
    return same && JSON.stringify(contentBlocks(only)) === JSON.stringify(blocks)
      ? only
      : { role, content: blocks }
  })
}

function alternate(body: JsonObject, report: Report): void {
  const merged: JsonObject[] = []
  for (const message of messagesIn(body)) {
    const last = merged.at(-1)
    if (last === undefined || last['role'] !== message['role']) merged.push(message)
    else {
      last['content'] = [...contentBlocks(last), ...contentBlocks(message)]
      report(`Joined two ${asText(message['role'])} messages in a row.`)
    }
  }
  if (merged[0]?.['role'] === 'assistant') {
    merged.unshift({ role: 'user', content: '(Earlier messages are not shown.)' })
    report('Put a user message before the first answer.')
  }
  body['messages'] = merged
}

function endWithUser(body: JsonObject, report: Report): void {
  body['messages'] = [...messagesIn(body), { role: 'user', content: 'Continue.' }]
  report('Added a user message at the end: this model does not continue its own message.')
}

function fillEmpty(body: JsonObject, report: Report): void {
  for (const [at, message] of messagesIn(body).entries()) {
    if (typeof message['content'] === 'string' || !Array.isArray(message['content'])) {
      if (!isBlank(message['content'])) continue
      message['content'] = '(empty)'
      report(`Put text into the empty message ${at}.`)
      continue
    }
    const blocks = blocksIn(message).filter(block => block['type'] !== 'text' || !isBlank(block['text']))
    if (blocks.length < blocksIn(message).length) report(`Dropped empty text from message ${at}.`)
    for (const block of blocks.filter(isToolResult)) fillResult(block, report)
    message['content'] = blocks.length > 0 ? blocks : '(empty)'
  }
  if (Array.isArray(body['system']))
    body['system'] = objectsOf(body['system']).filter(block => !isBlank(block['text']))
}

function fillResult(block: JsonObject, report: Report): void {
  const parts = objectsOf(block['content']).filter(part => part['type'] !== 'text' || !isBlank(part['text']))
  const isEmpty = typeof block['content'] === 'string' ? block['content'] === '' : parts.length === 0
  if (
    !isEmpty &&
    (typeof block['content'] === 'string' || parts.length === objectsOf(block['content']).length)
  )
    return
  block['content'] = parts.length > 0 ? parts : block['is_error'] === true ? 'The call failed.' : 'No output.'
  report(`Put text into the empty result of ${quoted(asText(block['tool_use_id']))}.`)
}

// ---- calls -------------------------------------------------------------------------------------------------

const callIdRefs = (body: JsonObject): FieldRef[] =>
  messagesIn(body)
    .flatMap(blocksIn)
    .flatMap(block => fieldRef(block, isToolUse(block) ? 'id' : 'tool_use_id'))

const ownTools = (body: JsonObject): JsonObject[] =>
  objectsOf(body['tools']).filter(({ type }) => type === undefined || type === 'custom')

const nameRefs = (body: JsonObject): FieldRef[] => [
  ...toolUses(body).flatMap(block => fieldRef(block, 'name')),
  ...fieldRef(body['tool_choice'], 'name'),
]

function fixInputs(body: JsonObject, report: Report): void {
  for (const block of toolUses(body)) {
    if (isJsonObject(block['input'])) continue
    block['input'] = asObject(block['input'])
    report(`Made the input of call ${quoted(asText(block['id']))} an object.`)
  }
}

// ---- tools and settings ------------------------------------------------------------------------------------

function declareUsed(body: JsonObject, report: Report): void {
  const used = new Set(toolUses(body).map(block => asText(block['name'])))
  if (used.size === 0) used.add('unavailable')
  body['tools'] = [...used].map(unavailableTool)
  body['tool_choice'] = { type: 'none' }
  report('Declared the tools that the history mentions, with the choice `none`.')
}

function fixInputSchemas(body: JsonObject, report: Report): void {
  for (const tool of ownTools(body)) {
    const given = isJsonObject(tool['input_schema']) ? tool['input_schema'] : {}
    const { schema, lost } = inDialect(given, anthropicPlain)
    if (JSON.stringify(schema) === JSON.stringify(tool['input_schema']) && tool['strict'] !== true) continue
    tool['input_schema'] = schema
    delete tool['strict']
    const losses = lost.length > 0 ? `: ${lost.join('; ')}` : ''
    report(`Rewrote the schema of ${quoted(asText(tool['name']))}${losses}.`)
  }
}

function fixAnthropicChoice(body: JsonObject, report: Report): void {
  const thinks = isJsonObject(body['thinking']) && body['thinking']['type'] !== 'disabled'
  const wanted = readChoice(body['tool_choice'])
  if (thinks && wanted !== undefined && wanted !== 'auto' && wanted !== 'none') {
    delete body['tool_choice']
    report('Dropped `tool_choice`: a call cannot be forced while the model thinks.')
    return
  }
  const names = objectsOf(body['tools']).map(tool => asText(tool['name']))
  rewriteChoice(
    body,
    names,
    choice =>
      typeof choice === 'object'
        ? { type: 'tool', name: choice.tool }
        : { type: choice === 'required' ? 'any' : choice },
    report,
  )
}

function fixThinking(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  for (const { message } of findings.toReversed()) {
    const place = /^messages\.(\d+)\.content\.(\d+)/.exec(message)
    if (message.includes('Expected `thinking`') || place === null) {
      if (body['thinking'] === undefined) continue
      delete body['thinking']
      report('Turned thinking off: the unfinished answer does not begin with thinking.')
    } else {
      const holder = messagesIn(body)[Number(place[1])]
      if (holder === undefined || !removeAt(body, `messages.${place[1]}.content.${place[2]}`)) continue
      if (blocksIn(holder).length === 0) holder['content'] = '(thinking that cannot be shown)'
      report(`Dropped a thinking block from message ${place[1]}: its signature is not valid here.`)
    }
    return
  }
}

function dropServerBlocks(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  const ids = findings.flatMap(({ message }) => message.match(/srvtoolu_\w+|mcptoolu_\w+/g) ?? [])
  for (const message of messagesIn(body)) {
    if (!Array.isArray(message['content'])) continue
    const kept = blocksIn(message).filter(
      block =>
        !ids.includes(asText(block['id'])) &&
        !(ids.includes(asText(block['tool_use_id'])) && !isToolResult(block)),
    )
    if (kept.length === blocksIn(message).length) continue
    message['content'] = kept.length > 0 ? kept : '(a search that was not finished)'
    report('Dropped one half of a server tool\u2019s call and result: the other half is missing.')
  }
}

function fixSettings(body: JsonObject, report: Report, findings: readonly Finding[]): void {
  for (const { message } of findings) {
    const key = /^([a-z_]+)/.exec(message)?.[1] ?? 'thinking'
    const field = Object.hasOwn(body, key) ? key : 'thinking'
    if (body[field] === undefined) continue
    delete body[field]
    report(`Dropped \`${field}\`: this model does not accept it.`)
  }
}

function addMaxTokens(body: JsonObject, report: Report): void {
  if (typeof body['max_tokens'] === 'number') return
  body['max_tokens'] = 4096
  report('Added `max_tokens`.')
}

/** Tried in this order. */
export const anthropicRepairs: readonly Repair[] = [
  { rules: ['A-26'], apply: fixSurrogates },
  { rules: ['A-00'], apply: addModel('claude-sonnet-4-6') },
  { rules: ['A-00'], apply: addMaxTokens },
  { rules: ['A-20'], apply: moveSystem },
  {
    rules: ['A-07', 'A-14', 'A-28'],
    apply: rewriteTools(
      tool =>
        isJsonObject(tool['input_schema']) || !['', 'function', 'custom'].includes(asText(tool['type'])),
      tool => declarationFields({ schema: emptySchema(), ...tool }, 'input_schema'),
    ),
  },
  {
    rules: ['A-05'],
    apply: separateNested({
      calls: message => blocksIn(message).filter(isToolUse),
      results: (messages, at) => blocksIn(messages[at + 1] ?? {}).filter(isToolResult),
      resultId: 'tool_use_id',
      prefix: 'toolu_',
      isPerMessage: false,
    }),
  },
  {
    rules: ['A-01', 'A-02', 'A-03', 'A-04', 'A-10', 'A-11'],
    apply: withDefaultReport(pairResults, 'Put results into the message directly after their calls.'),
  },
  {
    rules: ['A-06'],
    apply: renameCallIds(
      callIdRefs,
      id => VALID.test(id),
      id => makeId(id, 'toolu_'),
    ),
  },
  { rules: ['A-07'], apply: renameTools({ pattern: VALID, maxLength: 128 }, ownTools, nameRefs) },
  {
    rules: ['A-08'],
    apply(body, report) {
      body['tools'] = withoutDuplicates(objectsOf(body['tools']), report)
    },
  },
  { rules: ['A-09'], apply: fixInputs },
  { rules: ['A-19', 'A-19b', 'A-19c'], apply: fixThinking },
  { rules: ['A-22', 'A-23', 'A-25'], apply: dropServerBlocks },
  { rules: ['A-12'], apply: fillEmpty },
  { rules: ['A-21'], apply: alternate },
  { rules: ['A-18', 'A-24'], apply: endWithUser },
  { rules: ['A-13'], apply: declareUsed },
  { rules: ['A-14', 'A-15'], apply: fixInputSchemas },
  { rules: ['A-16', 'A-17'], apply: fixAnthropicChoice },
  { rules: ['A-27'], apply: fixSettings },
  { rules: ['A-IMG'], apply: fixPictures('anthropic') },
  ...anthropicExtras,
]
