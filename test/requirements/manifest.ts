// Requirements as data: every clause of a protocol has an id, tests cite ids, and requirements.test.ts fails when a
// clause has no test or a test cites what does not exist. A protocol is one file here whose default export is a Manifest.

export type Clause = {
  /** `<PREFIX>-<AREA>-<number>`; never used again for something else. */
  id: string
  /** The versions of the protocol that have it. */
  versions: readonly (number | string)[]
  /** In our own words. */
  clause: string
  /** Where the protocol says so: a page or section, or `ours` for what we add or decide where it is silent. */
  where: string
}

export type Manifest = { protocol: string; prefix: string; clauses: readonly Clause[] }

/**
 * For test names: `test(cites('AAP-META-01', 'what is seen'), …)`. The ids come first, the words last. The checker reads
 * the call in the source, so ids must be literals.
 */
export function cites(...idsThenWords: [string, ...string[]]): string {
  const words = idsThenWords.at(-1)
  return `${words} [${idsThenWords.slice(0, -1).join(' ')}]`
}

/** A clause per line: `id | versions | where | clause`. */
export function clausesOf(lines: string): Clause[] {
  return lines
    .trim()
    .split('\n')
    .map(line => {
      const [id, versions, where, ...clause] = line.split('|').map(cell => cell.trim())
      if (id === undefined || versions === undefined || where === undefined || clause.length !== 1)
        throw new Error(`not a clause: ${line}`)
      return {
        id,
        versions: versions.split(' ').map(version => (/^\d+$/.test(version) ? Number(version) : version)),
        where,
        clause: clause[0]!,
      }
    })
}
