// Which call a fragment of `tool_calls` belongs to. OpenAI counts them by `index` and names each once; other
// servers leave the index out, count all as 0, repeat id and name in every fragment, blank or repeat ids, or
// send whole calls at once. Two calls must never run together into one text, nor one call fall into two.

import type { ModelCall, ModelDelta } from '../../../engine/ports.ts'
import type { CallForm } from '../../../language/calls.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../lib/json.ts'
import { type TextUnwrapper, textUnwrapper } from '../../common/custom-tools.ts'
import { isCut, NO_ARGUMENTS } from '../../common/truncated.ts'

type Call = {
  index: number | undefined
  id: string
  name: string
  custom: boolean
  /** The arguments as they came, and what of them was not taken on yet. To cut `raw` up again would cost its whole length. */
  raw: string
  held: string
  /** What was shown of them, which is also the text of the call. */
  text: string
  form: CallForm
  /** Its place among the calls that were shown; undefined until its name is known. */
  place: number | undefined
  unwrapper: TextUnwrapper | undefined
}

export type Calls = {
  list: Call[]
  opened: Call[]
  /** At most one call is wanted: the others are left out. */
  single: boolean
  left: number
  names: ReadonlyMap<string, string>
  wrapped: ReadonlySet<string>
}

export function startCalls(
  names: ReadonlyMap<string, string>,
  wrapped: ReadonlySet<string>,
  single: boolean,
): Calls {
  return { list: [], opened: [], single, left: 0, names, wrapped }
}

/** What is to be shown is added to `deltas`. */
export function takeFragments(
  calls: Calls,
  fragments: Json | undefined,
  whole: boolean,
  deltas: ModelDelta[],
): void {
  if (!Array.isArray(fragments)) return
  for (const fragment of fragments) if (isJsonObject(fragment)) takeFragment(calls, fragment, whole, deltas)
}

type Fragment = { index: number | undefined; id: string; name: string; custom: boolean; text: string }

function takeFragment(calls: Calls, source: JsonObject, whole: boolean, deltas: ModelDelta[]): void {
  const fragment = read(source)
  const call = (whole ? undefined : continued(calls, fragment)) ?? begin(calls, fragment)
  if (call.id === '') call.id = fragment.id
  if (call.name === '') call.name = fragment.name
  call.raw += fragment.text
  call.held += fragment.text
  if (call.name === '') return
  open(calls, call, deltas)
  show(call, deltas)
}

function read(source: JsonObject): Fragment {
  const custom = isJsonObject(source['custom'])
  const inner = isJsonObject(source['custom'])
    ? source['custom']
    : isJsonObject(source['function'])
      ? source['function']
      : {}
  const value = custom ? inner['input'] : inner['arguments']
  const { index, id } = source
  return {
    index: typeof index === 'number' ? index : undefined,
    id: typeof id === 'string' ? id : '',
    name: typeof inner['name'] === 'string' ? inner['name'] : '',
    custom,
    // Some servers send the arguments as the object itself.
    text: typeof value === 'string' ? value : isJsonObject(value) ? JSON.stringify(value) : '',
  }
}

/** The call that this fragment goes on with; undefined when it begins one. */
function continued({ list }: Calls, fragment: Fragment): Call | undefined {
  const last = list.at(-1)
  const counted =
    fragment.index === undefined ? undefined : list.findLast(call => call.index === fragment.index)
  if (fragment.index !== undefined && counted === undefined) return undefined
  const candidate = counted ?? (fragment.id === '' ? last : list.findLast(call => call.id === fragment.id))
  if (candidate === undefined) return undefined
  return beginsAnother(candidate, fragment) ? undefined : candidate
}

function beginsAnother(call: Call, { id, name, text }: Fragment): boolean {
  if (id !== '' && call.id !== '' && id !== call.id) return true
  if (name === '' || call.name === '') return false
  if (name !== call.name) return true
  // The same name again: either a server that repeats it in every fragment, or the same tool once more. It is
  // once more only when what came before is whole and this starts a new object.
  return (text.trimStart().startsWith('{') || (id === '' && text === '')) && isWhole(call.raw)
}

function isWhole(text: string): boolean {
  try {
    return isJsonObject(JSON.parse(text))
  } catch {
    return false
  }
}

function begin(calls: Calls, { index, id, name, custom }: Fragment): Call {
  const call: Call = {
    index,
    id,
    name,
    custom,
    raw: '',
    held: '',
    text: '',
    form: custom ? 'text' : 'json',
    place: undefined,
    unwrapper: undefined,
  }
  calls.list.push(call)
  return call
}

// ---- what is shown ---------------------------------------------------------------------------------------

function open(calls: Calls, call: Call, deltas: ModelDelta[]): void {
  if (call.place !== undefined) return
  if (calls.single && calls.opened.length > 0) {
    calls.left++
    return
  }
  call.place = calls.opened.length
  calls.opened.push(call)
  if (calls.wrapped.has(call.name)) {
    call.form = 'text'
    call.unwrapper = textUnwrapper()
  }
  const name = calls.names.get(call.name) ?? call.name
  deltas.push({ type: 'call', index: call.place, name, form: call.form })
}

function show(call: Call, deltas: ModelDelta[]): void {
  if (call.place === undefined) return
  const raw = call.held
  call.held = ''
  add(call, call.unwrapper === undefined ? raw : call.unwrapper.push(raw), deltas)
}

function add(call: Call, text: string, deltas: ModelDelta[]): void {
  if (text === '' || call.place === undefined) return
  call.text += text
  deltas.push({ type: 'arguments', index: call.place, text })
}

/** The answer is over: what was held back is shown. `cut`: it was over before its time. */
export function closeCalls(calls: Calls, cut: boolean, deltas: ModelDelta[]): void {
  for (const call of calls.list) {
    // A call that was never named is shown all the same, so that the model is told that it does not exist.
    if (call.name !== '' || call.raw + call.id === '') continue
    open(calls, call, deltas)
    show(call, deltas)
  }
  for (const call of calls.opened) {
    if (call.unwrapper !== undefined) add(call, call.unwrapper.end().rest, deltas)
    else if (call.text === '' && call.form === 'json' && !(cut && call === calls.opened.at(-1)))
      add(call, NO_ARGUMENTS, deltas)
  }
}

export function modelCalls(calls: Calls, cut: boolean): ModelCall[] {
  return calls.opened.map((call, at) => {
    const last = at === calls.opened.length - 1
    const end = cut && last ? 'length' : 'closed'
    const whole = call.unwrapper === undefined ? call : { form: 'json' as const, text: call.raw }
    return {
      type: 'call',
      name: calls.names.get(call.name) ?? call.name,
      form: call.form,
      text: call.text,
      ...(isCut(whole, end) && { cut: true as const }),
      ...(call.id !== '' && { nativeId: call.id }),
    }
  })
}
