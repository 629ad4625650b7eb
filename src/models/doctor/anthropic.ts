// Repairs of Anthropic Messages requests, rule by rule. Each changes what its rules complain of and nothing else.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { anthropicPlain, toDialect } from '../common/schema-dialect.ts'
import { wireNames } from '../common/wire-names.ts'
import { anthropicExtras } from './anthropic-extras.ts'
import { readChoice, reformTools, rewriteChoice } from './foreign.ts'
import { type Item, NO_RESULT, pair } from './pairing.ts'
import { mendPictures } from './pictures.ts'
import {
  asObject,
  type Did,
  type Finding,
  inWords,
  isBlank,
  mendText,
  objectsOf,
  plainId,
  removeAt,
  respell,
  shown,
  slot,
  stringOf,
  type Treatment,
} from './treatment.ts'

const NAME = { pattern: /^[a-zA-Z0-9_-]+$/, maxLength: 128 }
const ID = /^[a-zA-Z0-9_-]+$/

const messagesOf = (body: JsonObject): JsonObject[] => objectsOf(body['messages'])
const blocksOf = (message: JsonObject): JsonObject[] => objectsOf(message['content'])
const isUse = (block: JsonObject): boolean => block['type'] === 'tool_use'
const isResult = (block: JsonObject): boolean => block['type'] === 'tool_result'
const textBlock = (text: string): JsonObject => ({ type: 'text', text })

// ---- the conversation --------------------------------------------------------------------------------------

function moveSystem(body: JsonObject, did: Did): void {
  const leading: Json[] = []
  const rest: Json[] = []
  for (const message of messagesOf(body)) {
    if (message['role'] !== 'system' && message['role'] !== 'developer') {
      const known = message['role'] === 'assistant' || message['role'] === 'user'
      rest.push(known ? message : { ...message, role: 'user' })
      if (!known) did(`Gave a message of the role ${shown(stringOf(message['role']))} to the user.`)
    } else if (rest.length === 0) leading.push(...contentBlocks(message))
    else {
      did('Turned a system message in mid-conversation into a note of the user.')
      rest.push({ role: 'user', content: contentBlocks(message) })
    }
  }
  body['messages'] = rest
  if (leading.length === 0) return
  const own = body['system']
  const before = typeof own === 'string' ? [textBlock(own)] : objectsOf(own)
  body['system'] = [...before, ...leading]
  did('Moved the system message into the `system` field.')
}

const contentBlocks = ({ content }: JsonObject): JsonObject[] =>
  typeof content === 'string' ? [textBlock(content)] : objectsOf(content)

type Placed = { block: JsonObject; role: string; message: JsonObject }

function pairResults(body: JsonObject, did: Did): void {
  const items = messagesOf(body).flatMap(message =>
    contentBlocks(message).map(block => itemOf({ block, role: stringOf(message['role']), message })),
  )
  const paired = pair(
    items,
    {
      makeResult: ({ id }) => {
        const block = { type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true }
        return { block, role: 'user', message: {} }
      },
      begins: () => false,
    },
    did,
  )
  body['messages'] = grouped(paired.map(({ value }) => value))
}

function itemOf(value: Placed): Item<Placed> {
  const { block, role } = value
  if (isUse(block))
    return {
      kind: 'call',
      id: stringOf(block['id']),
      name: stringOf(block['name']),
      value: { ...value, role: 'assistant' },
    }
  if (isResult(block))
    return { kind: 'result', id: stringOf(block['tool_use_id']), value: { ...value, role: 'user' } }
  return { kind: role === 'assistant' ? 'said' : 'given', value }
}

/** Blocks as messages again; one that is as it was keeps its own form. */
function grouped(placed: readonly Placed[]): Json[] {
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

function alternate(body: JsonObject, did: Did): void {
  const merged: JsonObject[] = []
  for (const message of messagesOf(body)) {
    const last = merged.at(-1)
    if (last === undefined || last['role'] !== message['role']) merged.push(message)
    else {
      last['content'] = [...contentBlocks(last), ...contentBlocks(message)]
      did(`Joined two ${stringOf(message['role'])} messages in a row.`)
    }
  }
  if (merged[0]?.['role'] === 'assistant') {
    merged.unshift({ role: 'user', content: '(Earlier messages are not shown.)' })
    did('Put a user message before the first answer.')
  }
  body['messages'] = merged
}

function endWithUser(body: JsonObject, did: Did): void {
  body['messages'] = [...messagesOf(body), { role: 'user', content: 'Continue.' }]
  did('Added a user message at the end: this model does not go on with its own words.')
}

function fillEmpty(body: JsonObject, did: Did): void {
  for (const [at, message] of messagesOf(body).entries()) {
    if (typeof message['content'] === 'string' || !Array.isArray(message['content'])) {
      if (!isBlank(message['content'])) continue
      message['content'] = '(empty)'
      did(`Put words into the empty message ${at}.`)
      continue
    }
    const blocks = blocksOf(message).filter(block => block['type'] !== 'text' || !isBlank(block['text']))
    if (blocks.length < blocksOf(message).length) did(`Dropped empty text from message ${at}.`)
    for (const block of blocks.filter(isResult)) fillResult(block, did)
    message['content'] = blocks.length > 0 ? blocks : '(empty)'
  }
  if (Array.isArray(body['system']))
    body['system'] = objectsOf(body['system']).filter(block => !isBlank(block['text']))
}

function fillResult(block: JsonObject, did: Did): void {
  const parts = objectsOf(block['content']).filter(part => part['type'] !== 'text' || !isBlank(part['text']))
  const isEmpty = typeof block['content'] === 'string' ? block['content'] === '' : parts.length === 0
  if (
    !isEmpty &&
    (typeof block['content'] === 'string' || parts.length === objectsOf(block['content']).length)
  )
    return
  block['content'] = parts.length > 0 ? parts : block['is_error'] === true ? 'The call failed.' : 'No output.'
  did(`Put words into the empty result of ${shown(stringOf(block['tool_use_id']))}.`)
}

// ---- calls -------------------------------------------------------------------------------------------------

function uniqueIds(body: JsonObject, did: Did): void {
  const seen = new Set<string>()
  for (const [at, message] of messagesOf(body).entries())
    for (const [place, block] of blocksOf(message).entries()) {
      const id = stringOf(block['id'])
      if (!isUse(block)) continue
      if (seen.has(id)) {
        const spelled = plainId(`${id} ${at} ${place}`, 'toolu_')
        block['id'] = spelled
        const next = messagesOf(body)[at + 1]
        const results = next
          ? blocksOf(next).filter(each => isResult(each) && each['tool_use_id'] === id)
          : []
        // The first answers the call before it, when both stand in one message.
        const own = results.at(-1)
        if (own !== undefined) own['tool_use_id'] = spelled
        did(`Renamed the second call ${shown(id)}, and its result, to ${spelled}.`)
      }
      seen.add(stringOf(block['id']))
    }
}

function respellIds(body: JsonObject, did: Did): void {
  const slots = messagesOf(body).flatMap(message =>
    blocksOf(message).flatMap(block => (isUse(block) ? slot(block, 'id') : slot(block, 'tool_use_id'))),
  )
  respell(
    slots,
    id => (ID.test(id) ? undefined : plainId(id, 'toolu_')),
    (old, id) => did(`Renamed the call id ${shown(old)} to ${id}, in the call and in its result.`),
  )
}

function respellNames(body: JsonObject, did: Did): void {
  const own = objectsOf(body['tools']).filter(tool => tool['type'] === undefined || tool['type'] === 'custom')
  const names = wireNames(
    own.map(tool => stringOf(tool['name'])),
    NAME,
  )
  const slots = [
    ...own.flatMap(tool => slot(tool, 'name')),
    ...messagesOf(body).flatMap(message =>
      blocksOf(message)
        .filter(isUse)
        .flatMap(block => slot(block, 'name')),
    ),
    ...slot(body['tool_choice'], 'name'),
  ]
  respell(
    slots,
    name => names.toWire(name),
    (old, name) => did(`Renamed the tool ${shown(old)} to ${name} everywhere.`),
  )
}

function fixInputs(body: JsonObject, did: Did): void {
  for (const message of messagesOf(body))
    for (const block of blocksOf(message))
      if (isUse(block) && !isJsonObject(block['input'])) {
        block['input'] = asObject(block['input'])
        did(`Made the input of call ${shown(stringOf(block['id']))} an object.`)
      }
}

// ---- tools and settings ------------------------------------------------------------------------------------

function dropSecondTools(body: JsonObject, did: Did): void {
  const seen = new Set<Json | undefined>()
  body['tools'] = objectsOf(body['tools']).filter(tool => {
    if (!seen.has(tool['name'])) return seen.add(tool['name'])
    did(`Dropped the second tool named ${shown(stringOf(tool['name']))}.`)
    return false
  })
}

function declareUsed(body: JsonObject, did: Did): void {
  const used = new Set(
    messagesOf(body).flatMap(message =>
      blocksOf(message)
        .filter(isUse)
        .map(block => stringOf(block['name'])),
    ),
  )
  if (used.size === 0) used.add('unavailable')
  body['tools'] = [...used].map(name => ({
    name,
    description: 'No longer available.',
    input_schema: { type: 'object', properties: {} },
  }))
  body['tool_choice'] = { type: 'none' }
  did('Declared the tools that the history mentions, with the choice `none`.')
}

function fixSchemas(body: JsonObject, did: Did): void {
  for (const tool of objectsOf(body['tools'])) {
    if (tool['type'] !== undefined && tool['type'] !== 'custom') continue
    const given = isJsonObject(tool['input_schema']) ? tool['input_schema'] : {}
    const adapted = toDialect(given, anthropicPlain)
    const schema: JsonObject = 'unusable' in adapted ? { type: 'object', properties: {} } : adapted.schema
    if (JSON.stringify(schema) === JSON.stringify(tool['input_schema']) && tool['strict'] !== true) continue
    const lost = 'unusable' in adapted ? [adapted.unusable] : adapted.lost
    tool['input_schema'] = schema
    delete tool['strict']
    did(
      `Rewrote the schema of ${shown(stringOf(tool['name']))}${lost.length > 0 ? `: ${lost.join('; ')}` : ''}.`,
    )
  }
}

function fixChoice(body: JsonObject, did: Did): void {
  const thinks = isJsonObject(body['thinking']) && body['thinking']['type'] !== 'disabled'
  const wanted = readChoice(body['tool_choice'])
  if (thinks && wanted !== undefined && wanted !== 'auto' && wanted !== 'none') {
    delete body['tool_choice']
    did('Left the choice of tools to the model: it cannot be forced while it thinks.')
    return
  }
  const names = objectsOf(body['tools']).map(tool => stringOf(tool['name']))
  rewriteChoice(
    body,
    names,
    choice =>
      typeof choice === 'object'
        ? { type: 'tool', name: choice.tool }
        : { type: choice === 'required' ? 'any' : choice },
    did,
  )
}

function fixThinking(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  for (const { message } of findings.toReversed()) {
    const place = /^messages\.(\d+)\.content\.(\d+)/.exec(message)
    if (message.includes('Expected `thinking`') || place === null) {
      if (body['thinking'] === undefined) continue
      delete body['thinking']
      did('Turned thinking off: the answer under way does not begin with thinking.')
    } else {
      const holder = messagesOf(body)[Number(place[1])]
      if (holder === undefined || !removeAt(body, `messages.${place[1]}.content.${place[2]}`)) continue
      if (blocksOf(holder).length === 0) holder['content'] = '(thinking that cannot be shown)'
      did(
        `Dropped a thinking block from message ${place[1]}: its signature is not this vendor's, or not its own.`,
      )
    }
    return
  }
}

function dropServerBlocks(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  const ids = findings.flatMap(({ message }) => message.match(/srvtoolu_\w+|mcptoolu_\w+/g) ?? [])
  for (const message of messagesOf(body)) {
    if (!Array.isArray(message['content'])) continue
    const kept = blocksOf(message).filter(
      block =>
        !ids.includes(stringOf(block['id'])) &&
        !(ids.includes(stringOf(block['tool_use_id'])) && !isResult(block)),
    )
    if (kept.length === blocksOf(message).length) continue
    message['content'] = kept.length > 0 ? kept : '(a search that was not finished)'
    did('Dropped one half of a server tool whose other half is missing.')
  }
}

function fixSettings(body: JsonObject, did: Did, findings: readonly Finding[]): void {
  for (const { message } of findings) {
    const key = /^([a-z_]+)/.exec(message)?.[1] ?? 'thinking'
    const field = Object.hasOwn(body, key) ? key : 'thinking'
    if (body[field] === undefined) continue
    delete body[field]
    did(`Dropped \`${field}\`, which this model does not take so.`)
  }
}

function fillEnvelope(body: JsonObject, did: Did): void {
  if (isBlank(body['model'])) {
    body['model'] = 'claude-sonnet-4-6'
    did('Added a model.')
  }
  if (typeof body['max_tokens'] !== 'number') {
    body['max_tokens'] = 4096
    did('Added `max_tokens`.')
  }
}

/** In the order in which they are tried. */
export const anthropicTreatments: readonly Treatment[] = [
  { rules: ['A-26'], apply: mendText },
  { rules: ['A-00'], apply: fillEnvelope },
  { rules: ['A-20'], apply: moveSystem },
  {
    rules: ['A-07', 'A-14', 'A-28'],
    apply: reformTools(
      tool =>
        isJsonObject(tool['input_schema']) || !['', 'function', 'custom'].includes(stringOf(tool['type'])),
      ({ name, description, schema }) => ({
        name,
        ...(description !== undefined && { description }),
        input_schema: schema ?? { type: 'object', properties: {} },
      }),
    ),
  },
  { rules: ['A-05'], apply: uniqueIds },
  {
    rules: ['A-01', 'A-02', 'A-03', 'A-04', 'A-10', 'A-11'],
    apply: inWords(pairResults, 'Put results into the one message after their calls.'),
  },
  { rules: ['A-06'], apply: respellIds },
  { rules: ['A-07'], apply: respellNames },
  { rules: ['A-08'], apply: dropSecondTools },
  { rules: ['A-09'], apply: fixInputs },
  { rules: ['A-19', 'A-19b', 'A-19c'], apply: fixThinking },
  { rules: ['A-22', 'A-23', 'A-25'], apply: dropServerBlocks },
  { rules: ['A-12'], apply: fillEmpty },
  { rules: ['A-21'], apply: alternate },
  { rules: ['A-18', 'A-24'], apply: endWithUser },
  { rules: ['A-13'], apply: declareUsed },
  { rules: ['A-14', 'A-15'], apply: fixSchemas },
  { rules: ['A-16', 'A-17'], apply: fixChoice },
  { rules: ['A-27'], apply: fixSettings },
  { rules: ['A-IMG'], apply: mendPictures('anthropic') },
  ...anthropicExtras,
]
