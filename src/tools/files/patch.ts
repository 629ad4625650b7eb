// The patch format that coding models are trained on: several files in one text, each added, updated, moved or deleted, and
// updates found by their lines and not by numbers. Pure: reading and writing files is the caller's work.
import { InvalidInput } from '../../engine/ports.ts'
import { quote } from '../../lib/text.ts'

/** A run of lines to be replaced. `places`: lines that stand somewhere before it, which tell it from others like it. */
export type Hunk = { places: string[]; old: string[]; fresh: string[]; atEnd: boolean }

export type FileChange =
  | { type: 'add'; path: string; text: string }
  | { type: 'delete'; path: string }
  | { type: 'update'; path: string; moveTo?: string; hunks: Hunk[] }

const header = /^\*\*\* (Add|Update|Delete) File: (.+)$/
const moveHeader = /^\*\*\* Move to: (.+)$/
const endOfFile = '*** End of File'

function refuse(problem: string): never {
  throw new InvalidInput(`The patch cannot be used: ${problem}`)
}

export function parsePatch(patch: string): FileChange[] {
  const lines = patch.replace(/\r\n/g, '\n').trim().split('\n')
  if (lines[0]?.trim() !== '*** Begin Patch') refuse('its first line must be "*** Begin Patch".')
  if (lines.at(-1)?.trim() !== '*** End Patch') refuse('its last line must be "*** End Patch".')
  const changes: FileChange[] = []
  let at = 1
  const last = lines.length - 1
  while (at < last) {
    const [, verb, path = ''] = header.exec(lines[at] ?? '') ?? []
    if (verb === undefined)
      refuse(
        `line ${at + 1} is ${quote(lines[at], 80)}; a file starts with "*** Add File: <path>", "*** Update File: <path>" or "*** Delete File: <path>".`,
      )
    let end = at + 1
    while (end < last && !header.test(lines[end] ?? '')) end++
    changes.push(parseFile(verb, path.trim(), lines.slice(at + 1, end), at + 2))
    at = end
  }
  if (changes.length === 0) refuse('it changes no file.')
  return changes
}

/** `first`: the number of the body's first line. */
function parseFile(verb: string, path: string, body: readonly string[], first: number): FileChange {
  if (verb === 'Delete') {
    if (body.some(line => line.trim() !== '')) refuse(`line ${first} belongs to no file.`)
    return { type: 'delete', path }
  }
  if (verb === 'Add') {
    const wrong = body.findIndex(line => !line.startsWith('+'))
    if (wrong >= 0) refuse(`line ${first + wrong} must begin with "+": it is part of a new file.`)
    return { type: 'add', path, text: body.map(line => `${line.slice(1)}\n`).join('') }
  }
  const moved = moveHeader.exec(body[0] ?? '')?.[1]?.trim()
  const hunks = parseHunks(body.slice(moved === undefined ? 0 : 1), first + (moved === undefined ? 0 : 1))
  if (hunks.length === 0 && moved === undefined) refuse(`the update of ${quote(path, 200)} changes nothing.`)
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
    } else refuse(`line ${first + at} is ${quote(line, 80)}; it must begin with " ", "+", "-" or "@@".`)
  }
  return hunks.filter(({ old, fresh }) => old.length + fresh.length > 0)
}

const emptyHunk = (): Hunk => ({ places: [], old: [], fresh: [], atEnd: false })

/** The text after the hunks. They are found in order, each after the one before. */
export function applyHunks(text: string, hunks: readonly Hunk[], path: string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = text.split(/\r?\n/)
  const hasEnd = lines.at(-1) === ''
  if (hasEnd) lines.pop()
  const result: string[] = []
  let done = 0
  for (const hunk of hunks) {
    let from = done
    for (const place of hunk.places) {
      const found = findLines(lines, [place], from)
      if (found < 0) refuse(`${quote(path, 200)} has no line ${quote(place, 120)} where the patch says.`)
      from = found + 1
    }
    const at = placeOf(lines, hunk, from)
    if (at < 0)
      refuse(
        `these lines are not in ${quote(path, 200)} as the patch says. Read the file again and use its exact lines:\n${hunk.old.slice(0, 20).join('\n')}`,
      )
    result.push(...lines.slice(done, at), ...hunk.fresh)
    done = at + hunk.old.length
  }
  result.push(...lines.slice(done))
  const whole = result.join(eol)
  return result.length > 0 && (hasEnd || lines.length === 0) ? `${whole}${eol}` : whole
}

function placeOf(lines: readonly string[], { old, atEnd, places }: Hunk, from: number): number {
  // Only additions: after the place that was named, or at the end.
  if (old.length === 0) return atEnd || places.length === 0 ? lines.length : from
  if (atEnd) {
    const last = lines.length - old.length
    if (last >= from && findLines(lines, old, last) === last) return last
  }
  return findLines(lines, old, from)
}

/** Exactly, then without regard to spaces at the ends of lines, then to those at their beginnings too. */
function findLines(lines: readonly string[], wanted: readonly string[], from: number): number {
  for (const same of [exact, trimmedEnd, trimmed])
    for (let at = from; at + wanted.length <= lines.length; at++)
      if (wanted.every((line, index) => same(lines[at + index]!, line))) return at
  return -1
}

const exact = (a: string, b: string): boolean => a === b
const trimmedEnd = (a: string, b: string): boolean => a.trimEnd() === b.trimEnd()
const trimmed = (a: string, b: string): boolean => a.trim() === b.trim()
