// What the docs lack of the wires of a table: a page for each, which names every path that the wire has.
import { existsSync, readFileSync } from 'node:fs'
import type { Wire } from '../../src/wires/wire.ts'

export function undocumented(wires: readonly Pick<Wire, 'name' | 'docs' | 'paths'>[]): string[] {
  return wires.flatMap(({ name, docs, paths }) => {
    if (!existsSync(docs)) return [`${name}: there is no ${docs}`]
    const page = readFileSync(docs, 'utf8')
    const bases = paths.map(path => path.split('/<', 1)[0] ?? path)
    return bases.filter(base => !page.includes(base)).map(base => `${name}: ${docs} does not name ${base}`)
  })
}
