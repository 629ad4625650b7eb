// Items that a request only names: they are looked up among the output of stored responses. And what reading items takes
// beside the items themselves.
import { isJsonObject, type Json } from '../../lib/json.ts'
import type { WireHost } from '../host.ts'
import { type Asked, protocol } from './decode.ts'
import type { ItemContext } from './decode-items.ts'
import { names, onlyKnown, text } from './fields.ts'
import { readItemId } from './ids.ts'
import { Refusal, shown } from './refuse.ts'
import { openerFor } from './sealed.ts'
import { findItem } from './stored-log.ts'

const fields = names('type id')

export async function resolveReferences(
  host: WireHost,
  owner: string,
  input: string | Json[],
): Promise<string | Json[]> {
  if (typeof input === 'string' || !input.some(isReference)) return input
  const resolved: Json[] = []
  for (const [index, item] of input.entries())
    resolved.push(isReference(item) ? await find(host, owner, item, `input[${index}]`) : item)
  return resolved
}

function isReference(item: Json): boolean {
  if (!isJsonObject(item)) return false
  const { type, role, id } = item
  return (
    type === 'item_reference' || ((type ?? null) === null && role === undefined && typeof id === 'string')
  )
}

async function find(host: WireHost, owner: string, item: Json, path: string): Promise<Json> {
  if (!isJsonObject(item)) return item
  onlyKnown(item, fields, path)
  const id = text(item['id'], `${path}.id`)
  const place = readItemId(id)
  const found = place && (await findItem(host, owner, place, id))
  if (found) return found
  const message = `Item with id '${shown(id)}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`
  throw new Refusal(message, 'input', 'item_not_found', 'not_found')
}

export function itemContext(host: WireHost, owner: string, { agent, settings }: Asked): ItemContext {
  const { origin } = agent.model(settings)
  return {
    images: agent.images,
    open: openerFor(owner, sealed => host.engine.ports.vault.open(sealed)),
    ...(origin?.protocol === protocol && { origin }),
  }
}
