import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  responsesBody as body,
  callItem as call,
  outputItem as output,
  responsesTool as tool,
  userItem as user,
} from '../../../../test/doubles/rig.ts'
import type { DoubleRequest } from '../double.ts'
import type { Mode, Rejection, ScriptedTurn } from '../script.ts'
import { checkRequestAll } from '../vendors.ts'
import { newResponsesMemory, type ResponsesMemory } from './history.ts'
import { openaiResponsesDouble } from './index.ts'

type Body = Record<string, unknown>

/** One request after another against one memory, as a caller with this key would send them. */
function session(key = 'sk-a', memory: ResponsesMemory = newResponsesMemory()) {
  const requestOf = (sent: Body): DoubleRequest => ({
    route: { kind: 'create', params: {} },
    query: new URLSearchParams(),
    headers: { authorization: `Bearer ${key}` },
    body: sent,
    rawText: JSON.stringify(sent),
  })
  return {
    memory,
    check: (sent: Body, mode: Mode = 'strict'): Rejection[] =>
      openaiResponsesDouble.check(requestOf(sent), memory, mode),
    say: (sent: Body, turn: ScriptedTurn) => {
      const answered = openaiResponsesDouble.respond(turn, requestOf(sent), memory)
      // The double's own answer: an object with an id and output items, which the tests index into.
      const response = answered.body as { id: string; output: Body[] }
      return { ...response, frames: answered.frames }
    },
  }
}

const thinkAndCall: ScriptedTurn = { thinking: 'hm', calls: [{ id: 'call_1', name: 'read' }] }
const sealedRequest = body('x', { store: false, include: ['reasoning.encrypted_content'] })

test('calls and outputs are paired over previous_response_id too (R-01, R-02)', () => {
  const { say, check } = session()
  const { id } = say(body('x'), thinkAndCall)
  assert.deepEqual(check(body([output('call_1')], { previous_response_id: id })), [])
  assert.equal(check(body('go on', { previous_response_id: id }))[0]?.rule, 'R-01')
  assert.equal(check(body([output('call_2')], { previous_response_id: id }))[0]?.rule, 'R-02')
})

test('R-06 a stored call needs its reasoning, unless it is sent without its id', () => {
  const { say, check } = session()
  const [reasoning, called] = say(body('x'), thinkAndCall).output
  assert.deepEqual(check(body([reasoning, called, output('call_1')])), [])
  const [rejection] = check(body([called, output('call_1')]))
  assert.equal(rejection?.rule, 'R-06')
  assert.equal(
    rejection?.message,
    `Item '${String(called?.['id'])}' of type 'function_call' was provided without its required 'reasoning' item: '${String(reasoning?.['id'])}'.`,
  )
  assert.deepEqual(check(body([call('call_1'), output('call_1')])), [])
})

test('R-06 a search needs its reasoning directly before it', () => {
  const { say, check } = session()
  const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }
  const [reasoning, found, message] = say(body('x'), { thinking: 'hm', raw: [search], text: 'y' }).output
  assert.deepEqual(check(body([reasoning, found, message])), [])
  assert.deepEqual(
    check(body([reasoning, { role: 'assistant', content: 'z' }, found, message])).map(({ rule }) => rule),
    ['R-06'],
  )
})

test('lenient mode accepts dangling and repeated encrypted reasoning without a store', () => {
  const { say, check } = session()
  const [reasoning] = say(sealedRequest, thinkAndCall).output
  const sent = { ...sealedRequest, input: [reasoning, reasoning, user] }
  assert.deepEqual(check(sent, 'lenient'), [])
  assert.deepEqual(
    check(sent).map(({ rule }) => rule),
    ['R-03', 'R-06', 'R-06'],
  )
})

test('R-07 an item that was not stored, or was deleted, cannot be referenced', () => {
  const { say, check, memory } = session()
  const unstored = say(sealedRequest, thinkAndCall)
  assert.equal(check(body([output('call_1')], { previous_response_id: unstored.id }))[0]?.rule, 'R-07')
  const reference = { type: 'item_reference', id: unstored.output[1]?.['id'] }
  assert.equal(check(body([reference, output('call_1')]))[0]?.rule, 'R-07')
  const stored = say(body('x'), thinkAndCall)
  const references = stored.output.map(item => ({ type: 'item_reference', id: item['id'] }))
  assert.deepEqual(check(body([...references, output('call_1')])), [])
  openaiResponsesDouble.direct?.(
    {
      route: { kind: 'delete', params: { id: stored.id } },
      query: new URLSearchParams(),
      headers: {},
      body: undefined,
      rawText: '',
    },
    memory,
  )
  assert.equal(check(body([...references, output('call_1')]))[0]?.rule, 'R-07')
})

test('R-08 encrypted content belongs to the key that it was made under', () => {
  const { say, memory } = session('sk-a')
  const [reasoning, called] = say(sealedRequest, thinkAndCall).output
  const sent = { ...sealedRequest, input: [user, reasoning, called, output('call_1')] }
  assert.deepEqual(session('sk-a', memory).check(sent), [])
  const [rejection] = session('sk-b', memory).check(sent)
  assert.equal(
    rejection?.message,
    `The encrypted content for item ${String(reasoning?.['id'])} could not be verified. Reason: Encrypted content organization_id did not match the target organization.`,
  )
})

test('R-08 encrypted content that the script wrote is recognised', () => {
  const { say, check } = session()
  const [reasoning, called] = say(sealedRequest, {
    ...thinkAndCall,
    thinking: { text: '', encrypted: 'my-token' },
  }).output
  assert.equal(reasoning?.['encrypted_content'], 'my-token')
  assert.deepEqual(check({ ...sealedRequest, input: [user, reasoning, called, output('call_1')] }), [])
})

test('R-08 the encrypted content of output_item.added is not whole and is refused', () => {
  const { say, check } = session()
  const { output: items, frames } = say(sealedRequest, thinkAndCall)
  const added: { item: Body } = JSON.parse(frames.find(({ event }) => event?.endsWith('added'))?.data ?? '')
  assert.equal(added.item['id'], items[0]?.['id'])
  const early = { ...items[0], encrypted_content: added.item['encrypted_content'] }
  const [rejection] = check({ ...sealedRequest, input: [user, early, items[1], output('call_1')] })
  assert.equal(rejection?.rule, 'R-08')
  assert.match(rejection?.message ?? '', /could not be decrypted or parsed/)
})

test('with previous_response_id, items that were sent before are refused (R-03)', () => {
  const { say, check } = session()
  const { id, output: items } = say(body('x'), thinkAndCall)
  const [rejection] = check(body([...items, output('call_1')], { previous_response_id: id }))
  assert.equal(rejection?.rule, 'R-03')
  assert.match(rejection?.message ?? '', /^Duplicate item found with id rs_/)
})

test('an omitted strict becomes true only if the schema allows it', () => {
  const closed = { type: 'object', properties: {}, required: [], additionalProperties: false }
  const tools = [tool('open'), tool('closed', { parameters: closed }), tool('said', { strict: false })]
  const response = session().say(body('x', { tools }), { text: 'y' })
  const echoed = 'tools' in response && Array.isArray(response.tools) ? response.tools : []
  assert.deepEqual(
    echoed.map((one: Body) => [one['name'], one['strict']]),
    [
      ['open', false],
      ['closed', true],
      ['said', false],
    ],
  )
})

test('R-14 output items that lose their order or phase are refused by the harness', () => {
  const { say, check } = session()
  const [message, called] = say(body('x'), { text: 'wait', calls: [{ id: 'call_1', name: 'read' }] }).output
  assert.equal(message?.['phase'], 'commentary')
  assert.deepEqual(check(body([message, called, output('call_1')])), [])
  const [reordered] = check(body([called, message, output('call_1')]))
  assert.deepEqual([reordered?.rule, reordered?.status], ['R-14', 422])
  const { phase: _, ...bare } = message ?? {}
  const [stripped] = check(body([bare, called, output('call_1')]))
  assert.deepEqual([stripped?.rule, stripped?.status], ['R-14', 422])
})

test("a program's calls and outputs must name that program as their caller", () => {
  const { say, check } = session()
  const caller = { type: 'program', caller_id: 'prog_call' }
  const raw = [
    { type: 'program', call_id: 'prog_call', code: 'await read({})', fingerprint: 'fp1' },
    { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{}', caller, status: 'completed' },
  ]
  const [program, called] = say(body('x', { store: false }), { raw }).output
  assert.deepEqual(check(body([program, called, output('call_1', { caller })])), [])
  const rules = (...items: unknown[]) => check(body(items)).map(({ message }) => message)
  assert.match(rules(called, output('call_1', { caller }))[0] ?? '', /^No program found for function call/)
  assert.match(rules(program, called, output('call_1'))[0] ?? '', /must carry the caller of its call/)
  assert.match(
    rules({ ...program, fingerprint: 'fp2' }, called, output('call_1', { caller }))[0] ?? '',
    /fingerprint .* could not be verified/,
  )
})

test('an approval must answer a request that was made', () => {
  const { say, check } = session()
  const raw = [{ type: 'mcp_approval_request', server_label: 'docs', name: 'read', arguments: '{}' }]
  const { id, output: items } = say(body('x'), { raw })
  const approve = (approval_request_id: unknown) => [
    { type: 'mcp_approval_response', approval_request_id, approve: true },
  ]
  assert.deepEqual(check(body(approve(items[0]?.['id']), { previous_response_id: id })), [])
  assert.equal(check(body(approve('mcpr_none'), { previous_response_id: id }))[0]?.rule, 'mcp-approval')
})

test('foreign ids and encrypted content are accepted with trustForeign', () => {
  const foreign = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAABforeign' }
  const sent = body([foreign, call('a'), output('a'), output('b')], { previous_response_id: 'resp_real' })
  assert.deepEqual(checkRequestAll('openai-responses', sent, { trustForeign: true }), [])
})
