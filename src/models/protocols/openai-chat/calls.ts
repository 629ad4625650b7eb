// Which call a fragment of `tool_calls` belongs to. OpenAI counts calls by `index` and names each once. Other servers
// leave the index out, count all calls as 0, repeat id and name in every fragment, leave ids blank or repeat them, or
// send whole calls at once. Two calls must never become one text, nor one call two.

import type { ModelCall, ModelDelta } from '../../../engine/ports/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json/index.ts'
import { CallArguments, wholeCall } from '../../common/answer.ts'
import { asObject, asString, readJson } from '../../common/json-read.ts'

export type CallReading = {
  /** Wire name → our name. */
  names: ReadonlyMap<string, string>
  /** Wire names of the text tools that were declared as functions of one string. */
  textTools: ReadonlySet<string>
  /** Only the first call is taken. */
  single: boolean
}

export type StreamedCalls = CallReading & {
  list: StreamedCall[]
  /** The calls that were shown, in order. */
  opened: OpenedCall[]
  /** Further calls came though only one was wanted. */
  dropped: boolean
}

type StreamedCall = {
  index: number | undefined
  id: string
  name: string
  custom: boolean
  /** Arguments that came before the name. */
  early: string
  /** Made once the name is known. */
  arguments: CallArguments | undefined
  /** Among the calls that were shown. Undefined for a dropped call. */
  position: number | undefined
}

type OpenedCall = { call: StreamedCall; arguments: CallArguments }

export function startCalls({ names, textTools, single }: CallReading): StreamedCalls {
  return { names, textTools, single, list: [], opened: [], dropped: false }
}

/** `whole`: each fragment is a call of its own. */
export function takeFragments(
  calls: StreamedCalls,
  fragments: Json | undefined,
  whole: boolean,
  deltas: ModelDelta[],
): void {
  if (!Array.isArray(fragments)) return
  for (const source of fragments) {
    if (!isJsonObject(source)) continue
    const fragment = readFragment(source)
    const call = (whole ? undefined : continuedCall(calls, fragment)) ?? beginCall(calls, fragment)
    if (call.id === '') call.id = fragment.id
    if (call.name === '') call.name = fragment.name
    if (call.name === '') call.early += fragment.text
    else addToCall(calls, call, fragment.text, deltas)
  }
}

type Fragment = { index: number | undefined; id: string; name: string; custom: boolean; text: string }

function readFragment(source: JsonObject): Fragment {
  const custom = isJsonObject(source['custom'])
  const inner = asObject(source[custom ? 'custom' : 'function'])
  const value = custom ? inner['input'] : inner['arguments']
  const { index, id } = source
  return {
    index: typeof index === 'number' ? index : undefined,
    id: asString(id),
    name: asString(inner['name']),
    custom,
    // Some servers send the arguments as an object.
    text: isJsonObject(value) ? JSON.stringify(value) : asString(value),
  }
}

/** The call that this fragment continues; undefined when it begins one. */
function continuedCall({ list }: StreamedCalls, fragment: Fragment): StreamedCall | undefined {
  const byIndex =
    fragment.index === undefined ? undefined : list.findLast(call => call.index === fragment.index)
  if (fragment.index !== undefined && byIndex === undefined) return undefined
  const byId = fragment.id === '' ? list.at(-1) : list.findLast(call => call.id === fragment.id)
  const candidate = byIndex ?? byId
  return candidate === undefined || beginsAnother(candidate, fragment) ? undefined : candidate
}

function beginsAnother(call: StreamedCall, { id, name, text }: Fragment): boolean {
  if (id !== '' && call.id !== '' && id !== call.id) return true
  if (name === '' || call.name === '') return false
  if (name !== call.name) return true
  // The same name again is either a server that repeats it in every fragment, or a second call of the same tool. It is
  // a second call only if the arguments so far are whole and this fragment starts a new object.
  const isStart = text.trimStart().startsWith('{') || (id === '' && text === '')
  return isStart && isJsonObject(readJson(call.arguments?.raw ?? ''))
}

function beginCall(calls: StreamedCalls, { index, id, name, custom }: Fragment): StreamedCall {
  const call: StreamedCall = {
    index,
    id,
    name,
    custom,
    early: '',
    arguments: undefined,
    position: undefined,
  }
  calls.list.push(call)
  return call
}

// ---- deltas ----------------------------------------------------------------------------------------------

function addToCall(calls: StreamedCalls, call: StreamedCall, text: string, deltas: ModelDelta[]): void {
  const args = call.arguments ?? openCall(calls, call, deltas)
  const shown = args.push(call.early + text)
  call.early = ''
  showArguments(call, shown, deltas)
}

function openCall(calls: StreamedCalls, call: StreamedCall, deltas: ModelDelta[]): CallArguments {
  const isWrapped = calls.textTools.has(call.name)
  const args = new CallArguments(call.custom || isWrapped ? 'text' : 'json', isWrapped)
  call.arguments = args
  if (calls.single && calls.opened.length > 0) {
    calls.dropped = true
    return args
  }
  call.position = calls.opened.length
  calls.opened.push({ call, arguments: args })
  deltas.push({ type: 'call', index: call.position, name: ourName(calls, call), form: args.form })
  return args
}

function ourName({ names }: StreamedCalls, { name }: StreamedCall): string {
  return names.get(name) ?? name
}

function showArguments({ position }: StreamedCall, text: string, deltas: ModelDelta[]): void {
  if (text !== '' && position !== undefined) deltas.push({ type: 'arguments', index: position, text })
}

/** The answer is over. `cut`: it ended before its time. */
export function closeCalls(calls: StreamedCalls, cut: boolean, deltas: ModelDelta[]): void {
  // A call that was never named is shown all the same, so that the model learns that it does not exist.
  for (const call of calls.list)
    if (call.name === '' && call.early + call.id !== '') addToCall(calls, call, '', deltas)
  for (const [at, { call, arguments: args }] of calls.opened.entries()) {
    const isCutOff = cut && at === calls.opened.length - 1
    showArguments(call, args.end(!isCutOff), deltas)
  }
}

export function modelCalls(calls: StreamedCalls, cut: boolean): ModelCall[] {
  return calls.opened.map(({ call, arguments: args }, at) => {
    const isLast = at === calls.opened.length - 1
    const { form, text } = args
    const isCut = args.isCut(cut && isLast ? 'length' : 'closed')
    return wholeCall({ name: ourName(calls, call), form, text }, isCut, call.id)
  })
}
