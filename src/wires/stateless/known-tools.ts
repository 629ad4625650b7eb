// A client that keeps the conversation itself declares its tools with every request, and mostly the same ones. Tools that were
// read before are given again as the same objects, so that everything derived from them is known too: the check of their
// schemas, their names at a vendor, their declarations. A list is known by its whole text, so nobody gets other tools.
import type { Json } from '../../lib/json/index.ts'

/** So many lists are kept, of so many characters each. */
const mostLists = 32
const mostChars = 256 * 1024

/** `read` is pure, and nobody changes what it gives. */
export function keepTools<Tools>(read: (value: Json) => Tools): (value: Json) => Tools {
  /** The list that was asked for last stands last. */
  const known = new Map<string, Tools>()
  return value => {
    const text = JSON.stringify(value)
    const tools = known.get(text) ?? read(value)
    known.delete(text)
    if (text.length <= mostChars) known.set(text, tools)
    const [oldest] = known.size > mostLists ? known.keys() : []
    if (oldest !== undefined) known.delete(oldest)
    return tools
  }
}
