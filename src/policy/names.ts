// Lists of names with stars, as rules and settings write them.
import { fitsStars } from '../lib/text/star-names.ts'
import { invalidPolicy } from './invalid-policy.ts'

/** Whether a name is one of these; `*` stands for any run of characters. `where`: the setting, for messages. */
export function namesMatcher(
  names: string | readonly string[],
  where = 'The list of names',
): (name: string) => boolean {
  const list = [names].flat()
  if (list.length === 0) invalidPolicy(where, 'must hold at least one name; leave it out to match all')
  const exact = new Set<string>()
  const patterns: string[] = []
  for (const name of list) {
    if (typeof name !== 'string' || name === '') invalidPolicy(where, 'must hold names that are not empty')
    if (name.includes('*')) patterns.push(name)
    else exact.add(name)
  }
  return name => exact.has(name) || patterns.some(pattern => fitsStars(pattern, name))
}
