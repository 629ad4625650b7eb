// Items that a request only names: they are looked up among the output of stored responses. And what reading items takes
// beside the items themselves.
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import type { WireHost } from '../host.ts'
import { type Asked, protocol } from './decode.ts'
import type { ItemContext } from './decode-items.ts'
import { names, onlyKnown, text } from './fields.ts'
import { readItemId } from './ids.ts'
import { Refusal, shown } from './refuse.ts'
import { openerFor, sealAnswer } from './sealed.ts'
import { type FoundItem, findItem } from './stored-log.ts'

const fields = names('type id')

/** With the first item of an answer comes what the model's maker wants back with it. */
export async function resolveReferences(
  host: WireHost,
  owner: string,
  input: string | Json[],
): Promise<string | Json[]> {
  if (typeof input === 'string' || !input.some(isReference)) return input
  const resolved: Json[] = []
  const seen = new Set<string>()
  for (const [index, named] of input.entries()) {
    if (!isReference(named)) {
      resolved.push(named)
      continue
    }
    const { item, answered } = await find(host, owner, named, `input[${index}]`)
    const answer = text(item['id'] ?? '', 'id').replace(/^[a-z]+_|_\d+$/g, '')
    const token = answered && !seen.has(answer) && sealAnswer(answered, owner, whole => host.seal(whole))
    seen.add(answer)
    if (token) resolved.push({ type: 'reasoning', summary: [], encrypted_content: token })
    resolved.push(item)
  }
  return resolved
}

function isReference(item: Json): item is JsonObject {
  if (!isJsonObject(item)) return false
  const { type, role, id } = item
  return (
    type === 'item_reference' || ((type ?? null) === null && role === undefined && typeof id === 'string')
  )
}

async function find(host: WireHost, owner: string, item: JsonObject, path: string): Promise<FoundItem> {
  onlyKnown(item, fields, path)
  const id = text(item['id'], `${path}.id`)
  const place = readItemId(id)
  const found = place && (await findItem(host, owner, place))
  if (found) return found
  const message = `Item with id '${shown(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
  throw new Refusal(message, 'input', 'item_not_found', 'not_found')
}

export function itemContext(host: WireHost, owner: string, { agent, settings }: Asked): ItemContext {
  const { origin } = agent.model(settings)
  return {
    images: agent.images,
    open: openerFor(owner, sealed => host.old.ports.vault.open(sealed)),
    ...(origin?.protocol === protocol && { origin }),
  }
}
