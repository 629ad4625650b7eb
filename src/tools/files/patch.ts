// The patch format that coding models are trained on: several files in one text, each added, updated, moved or deleted, and
// updates found by their lines and not by numbers. Pure: reading and writing files is the caller's work.
import { InvalidInput } from '../../engine/ports/index.ts'
import { quote } from '../../lib/text/index.ts'

/** A run of lines to be replaced. `places`: lines that stand somewhere before it, which tell it from others like it. */
export type Hunk = { places: string[]; old: string[]; fresh: string[]; atEnd: boolean }

export type FileChange =
  | { type: 'add'; path: string; text: string }
  | { type: 'delete'; path: string }
  | { type: 'update'; path: string; moveTo?: string; hunks: Hunk[] }

const header = /^\*\*\* (Add|Update|Delete) File: (.+)$/
const moveHeader = /^\*\*\* Move to: (.+)$/
const endOfFile = '*** End of File'

function refusePatch(problem: string): never {
  throw new InvalidInput(`The patch cannot be used: ${problem}`)
}

export function parsePatch(patch: string): FileChange[] {
  const lines = patch.replace(/\r\n/g, '\n').trim().split('\n')
  if (lines[0]?.trim() !== '*** Begin Patch') refusePatch('its first line must be "*** Begin Patch".')
  if (lines.at(-1)?.trim() !== '*** End Patch') refusePatch('its last line must be "*** End Patch".')
  const changes: FileChange[] = []
  let at = 1
  const last = lines.length - 1
  while (at < last) {
    const [, verb, path = ''] = header.exec(lines[at] ?? '') ?? []
    if (verb === undefined)
      refusePatch(
        `line ${at + 1} is ${quote(lines[at], 80)}; a file starts with "*** Add File: <path>", "*** Update File: <path>" or "*** Delete File: <path>".`,
      )
    let end = at + 1
    while (end < last && !header.test(lines[end] ?? '')) end++
    changes.push(parseFile(verb, path.trim(), lines.slice(at + 1, end), at + 2))
    at = end
  }
  if (changes.length === 0) refusePatch('it changes no file.')
  return changes
}

/** `first`: the number of the body's first line. */
function parseFile(verb: string, path: string, body: readonly string[], first: number): FileChange {
  if (verb === 'Delete') {
    if (body.some(line => line.trim() !== '')) refusePatch(`line ${first} belongs to no file.`)
    return { type: 'delete', path }
  }
  if (verb === 'Add') {
    const wrong = body.findIndex(line => !line.startsWith('+'))
    if (wrong >= 0) refusePatch(`line ${first + wrong} must begin with "+": it is part of a new file.`)
    return { type: 'add', path, text: body.map(line => `${line.slice(1)}\n`).join('') }
  }
  const moved = moveHeader.exec(body[0] ?? '')?.[1]?.trim()
  const hunks = parseHunks(body.slice(moved === undefined ? 0 : 1), first + (moved === undefined ? 0 : 1))
  if (hunks.length === 0 && moved === undefined)
    refusePatch(`the update of ${quote(path, 200)} changes nothing.`)
  return { type: 'update', path, hunks, ...(moved !== undefined && { moveTo: moved }) }
}

function parseHunks(lines: readonly string[], first: number): Hunk[] {
  const hunks: Hunk[] = []
  let hunk: Hunk | undefined
  for (const [at, line] of lines.entries()) {
    if (line.startsWith('@@')) {
      // Several of them in a row narrow the place down.
      if (!hunk || hunk.old.length + hunk.fresh.length > 0) {
        hunk = emptyHunk()
        hunks.push(hunk)
      }
      const place = line.slice(2).trim()
      if (place !== '') hunk.places.push(place)
      continue
    }
    if (!hunk) {
      hunk = emptyHunk()
      hunks.push(hunk)
    }
    if (line === endOfFile) hunk.atEnd = true
    else if (line.startsWith('+')) hunk.fresh.push(line.slice(1))
    else if (line.startsWith('-')) hunk.old.push(line.slice(1))
    else if (line.startsWith(' ') || line === '') {
      hunk.old.push(line.slice(1))
      hunk.fresh.push(line.slice(1))
    } else refusePatch(`line ${first + at} is ${quote(line, 80)}; it must begin with " ", "+", "-" or "@@".`)
  }
  return hunks.filter(({ old, fresh }) => old.length + fresh.length > 0)
}

const emptyHunk = (): Hunk => ({ places: [], old: [], fresh: [], atEnd: false })

/** Told the cost in microseconds before it comes, and may throw. */
type Spend = (micros: number) => void

/** The text after the hunks. They are found in order, each after the one before. */
export function applyHunks(
  text: string,
  hunks: readonly Hunk[],
  path: string,
  spend: Spend = () => {},
): string {
  spend(text.length * 0.02)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const all = text.split(/\r?\n/)
  const hasEnd = all.at(-1) === ''
  if (hasEnd) all.pop()
  const lines = new Lines(all, text.length, spend)
  const result: string[] = []
  let done = 0
  for (const hunk of hunks) {
    let from = done
    for (const place of hunk.places) {
      const found = lines.find([place], from)
      if (found < 0) refusePatch(`${quote(path, 200)} has no line ${quote(place, 120)} where the patch says.`)
      from = found + 1
    }
    const at = findPlace(lines, hunk, from)
    if (at < 0)
      refusePatch(
        `these lines are not in ${quote(path, 200)} as the patch says. Read the file again and use its exact lines:\n${hunk.old.slice(0, 20).join('\n')}`,
      )
    for (; done < at; done += 1) result.push(all[done]!)
    for (const line of hunk.fresh) result.push(line)
    done = at + hunk.old.length
  }
  for (; done < all.length; done += 1) result.push(all[done]!)
  const whole = result.join(eol)
  return result.length > 0 && (hasEnd || all.length === 0) ? `${whole}${eol}` : whole
}

function findPlace(lines: Lines, { old, atEnd, places }: Hunk, from: number): number {
  // Only additions: after the place that was named, or at the end.
  if (old.length === 0) return atEnd || places.length === 0 ? lines.count : from
  if (atEnd) {
    const last = lines.count - old.length
    if (last >= from && lines.find(old, last) === last) return last
  }
  return lines.find(old, from)
}

/** Exactly, then without regard to spaces at the ends of lines, then to those at their beginnings too. */
const forms: readonly ((line: string) => string)[] = [
  line => line,
  line => line.trimEnd(),
  line => line.trim(),
]

/** The lines of a file, in each of the forms in which they are compared. */
class Lines {
  readonly #forms: (readonly string[])[]
  readonly #spend: Spend
  /** Of comparing two lines that are the same. */
  readonly #lineMicros: number

  constructor(lines: readonly string[], characters: number, spend: Spend) {
    this.#forms = [lines]
    this.#spend = spend
    this.#lineMicros = 0.05 + (characters / Math.max(1, lines.length)) * 0.0005
  }

  get count(): number {
    return this.#forms[0]!.length
  }

  find(wanted: readonly string[], from: number): number {
    for (const [index, form] of forms.entries()) {
      const found = this.#findIn(this.#linesAs(index), wanted.map(form), from)
      if (found >= 0) return found
    }
    return -1
  }

  #linesAs(index: number): readonly string[] {
    const known = this.#forms[index]
    if (known) return known
    const [exact] = this.#forms
    this.#spend(exact!.length * 0.2)
    const made = exact!.map(forms[index]!)
    this.#forms[index] = made
    return made
  }

  #findIn(lines: readonly string[], wanted: readonly string[], from: number): number {
    this.#spend(wanted.length * 0.2)
    for (let at = from; at + wanted.length <= lines.length; at++) {
      let same = 0
      while (same < wanted.length && lines[at + same] === wanted[same]) same += 1
      if (same === wanted.length) return at
      this.#spend(0.02 + same * this.#lineMicros)
    }
    return -1
  }
}
