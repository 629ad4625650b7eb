// What a person should know about arguments before allowing them, because it is easy to overlook: hidden characters, words
// that mix alphabets, and values so long that their end is out of sight.
import { isJsonObject, type Json } from '../lib/json.ts'

const hidden = /(?!\ufe0f)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu
const mixed =
  /(?=[\p{L}\p{M}.-]*\p{Script=Latin})(?=[\p{L}\p{M}.-]*[\p{Script=Cyrillic}\p{Script=Greek}])[\p{L}\p{M}.-]+/u
const longest = 4000

export function suspicionsOf(value: Json): string[] {
  const found = { hidden: 0, mixed: [] as string[], long: [] as string[] }
  walk(value, '', (text, path) => {
    found.hidden += text.replaceAll(/[\n\t]/g, '').match(hidden)?.length ?? 0
    const word = mixed.exec(text.slice(0, 100_000))?.[0]
    if (word !== undefined) found.mixed.push(word)
    if (text.length > longest)
      found.long.push(`${path || 'the text'} has ${text.length.toLocaleString('en')} characters`)
  })
  return [
    ...(found.hidden > 0
      ? [`${found.hidden} hidden or control characters: they are spelled out below.`]
      : []),
    ...found.mixed
      .slice(0, 3)
      .map(word => `“${word.slice(0, 60)}” mixes letters of several alphabets that look alike.`),
    ...found.long.slice(0, 3).map(words => `${words}. Its beginning and its end are shown.`),
  ]
}

function walk(value: Json, path: string, visit: (text: string, path: string) => void): void {
  if (typeof value === 'string') visit(value, path)
  else if (Array.isArray(value))
    for (const [index, item] of value.entries()) walk(item, `${path}/${index}`, visit)
  else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) {
      visit(name, path)
      walk(member, `${path}/${name}`, visit)
    }
}
