// Finds the session that a request with a whole conversation goes on with. Clients send the items of earlier responses
// back with each request, whole or as references. If they equal the content of the session of the newest of these
// responses, the request continues that session, so that one conversation is one session however its client speaks. A
// conversation that was changed anywhere becomes a session of its own.
import type { Entry } from '../../language/history.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { isJsonObject } from '../../lib/json/index.ts'
import { ifFound } from '../not-found.ts'
import type { ResponsesCaller } from './caller.ts'
import type { InputItem } from './decode-items.ts'
import { readItemId, responseId } from './ids.ts'
import { findResponse, isNewest, lastRead, type StoredResponse } from './stored-log.ts'

/** The input of a request, split: items up to and with an earlier response (`before`), and new items (`added`). */
export type Repeated = { response: string; before: InputItem[]; added: InputItem[] }

/** `items`: each item of `input`, decoded. Undefined: no item of the input is from a response of ours. */
export function splitInput(
  input: readonly Json[],
  items: readonly (readonly InputItem[])[],
): Repeated | undefined {
  const last = input.findLastIndex(item => readPlace(item) !== undefined)
  const place = last < 0 ? undefined : readPlace(input[last]!)
  if (!place) return undefined
  // Some clients leave out the ids of calls.
  const next = items.findIndex((meant, at) => at > last && !meant.every(isModels))
  const end = next < 0 ? items.length : next
  return {
    response: responseId(place),
    before: items.slice(0, end).flat(),
    added: items.slice(end).flat(),
  }
}

function isModels({ kind }: InputItem): boolean {
  return kind === 'said' || kind === 'call' || kind === 'sealed'
}

function readPlace(item: Json): ReturnType<typeof readItemId> {
  const id = isJsonObject(item) ? (item as JsonObject)['id'] : undefined
  return typeof id === 'string' ? readItemId(id) : undefined
}

/** The response that the request goes on from. Undefined: a session of its own is needed. */
export async function findRepeated(
  caller: ResponsesCaller,
  { response: id, before }: Repeated,
): Promise<StoredResponse | undefined> {
  const response = await ifFound(findResponse(caller, id))
  if (!response?.over || !(await isNewest(caller.engine, response))) return undefined
  const { entries } = await caller.engine.history(response.ref, { get: 'entries', upTo: lastRead(response) })
  const said = inputWords(before)
  const known = entryWords(entries)
  return said?.length === known.length && said.every((word, at) => word === known[at]) ? response : undefined
}

// A conversation as a list of words, one for each thing that was said or done in it. Reasoning is left out, since clients
// may leave it out. Texts that follow one another count as one.

/** Undefined: the server ran something, which clients repeat in other items than the log has. */
function inputWords(items: readonly InputItem[]): string[] | undefined {
  const words = new Words()
  for (const item of items) {
    if (item.kind === 'user') words.add('user', item.parts)
    else if (item.kind === 'system') words.add('system', item.text)
    else if (item.kind === 'call') words.add('call', item.part.id, item.part.name, item.part.text)
    else if (item.kind === 'output') words.add('output', item.callId, item.output)
    else if (item.kind === 'said' && item.part.type === 'text') words.say(item.part.text)
    else if (item.kind === 'ran' || item.kind === 'approval') return undefined
  }
  return words.list
}

function entryWords(entries: readonly Entry[]): string[] {
  const words = new Words()
  for (const entry of entries) {
    if (entry.role === 'user') words.add('user', entry.parts)
    else if (entry.role === 'system') words.add('system', entry.text)
    else if (entry.role === 'tool')
      for (const { callId, outcome } of entry.results) words.add('output', callId, outcome.parts)
    else
      for (const part of entry.parts) {
        if (part.type === 'text') words.say(part.text)
        else if (part.type === 'call') words.add('call', part.id, part.name, part.text)
      }
  }
  return words.list
}

class Words {
  readonly list: string[] = []
  #isSpeech = false

  add(...word: unknown[]): void {
    this.list.push(JSON.stringify(word))
    this.#isSpeech = false
  }

  say(text: string): void {
    if (text === '') return
    if (this.#isSpeech) this.list[this.list.length - 1] += text
    else this.list.push(`said ${text}`)
    this.#isSpeech = true
  }
}
