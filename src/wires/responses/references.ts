// Items that a request only names by id. They are looked up among the output of stored responses.
import { ShownFold } from '../../language/show.ts'
import { names } from '../../lib/json/fields.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { ifFound } from '../not-found.ts'
import type { ResponsesCaller } from './caller.ts'
import type { ResponseAnswer } from './encode.ts'
import { readItemId, responseId } from './ids.ts'
import { sealAnswer } from './sealed.ts'
import { encodeStored, findResponse } from './stored-log.ts'
import { field, noSuchItem } from './wordings.ts'

const referenceFields = names('type id')

/** The first item of an answer comes with the sealed vendor data of that answer. */
export async function resolveReferences(
  caller: ResponsesCaller,
  input: readonly Json[],
): Promise<readonly Json[]> {
  if (!input.some(isReference)) return input
  const resolved: Json[] = []
  const seen = new Set<string>()
  for (const [index, named] of input.entries()) {
    if (!isReference(named)) {
      resolved.push(named)
      continue
    }
    const { item, answer, answerId } = await findItem(caller, named, `input[${index}]`)
    const token = answer && !seen.has(answerId) && sealAnswer(answer, caller)
    seen.add(answerId)
    if (token) resolved.push({ type: 'reasoning', summary: [], encrypted_content: token })
    resolved.push(item)
  }
  return resolved
}

function isReference(item: Json): item is JsonObject {
  if (!isJsonObject(item)) return false
  const { type = null, role, id } = item
  return type === 'item_reference' || (type === null && role === undefined && typeof id === 'string')
}

/** An item of an earlier response, and the model's answer that it is a part of. */
type FoundItem = { item: JsonObject; answer: ResponseAnswer | undefined; answerId: string }

async function findItem(caller: ResponsesCaller, named: JsonObject, path: string): Promise<FoundItem> {
  field.onlyKnown(named, referenceFields, path)
  const id = field.text(named['id'], `${path}.id`)
  const place = readItemId(id)
  const response = place && (await ifFound(findResponse(caller, responseId(place))))
  const output = response ? encodeStored(caller.host.about.agents, response).output : []
  const item = output.find(each => each.id === id)
  if (!place || !response || !item) throw noSuchItem(id)
  const fold = new ShownFold()
  const answers = response.events.flatMap(({ event }) => {
    const shown = fold.take(event)
    return shown?.type === 'answer' ? [shown.answer] : []
  })
  const answerId = `${responseId(place)}_${place.answer}`
  // Output items are JSON by construction.
  return { item: item as JsonObject, answer: answers[place.answer], answerId }
}
