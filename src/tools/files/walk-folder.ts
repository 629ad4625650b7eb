// One walk over a folder and what lies below it, by descriptors: each folder is opened from the one above it, so the cost of
// an entry does not grow with its depth. Links are named, not followed. Synchronous: it runs in the threads for files.
import { closeSync, constants, type Dirent, fstatSync, openSync, readdirSync } from 'node:fs'
import { isPrivate } from '../../lib/files/private-folders.ts'
import { fileError, type Kind, kindAt, nothingThere, type Root, type RootPlace } from './root.ts'

export type WalkOptions = {
  /** Names of folders that are not entered. */
  ignored: ReadonlySet<string>
  /** How many levels are entered. */
  depth: number
  /** The entries of a folder come before the entries of its subfolders. */
  foldersLast?: boolean
}

/** `place` can be used until the next entry is asked for. */
export type WalkedEntry = { kind: Kind; name: string; place: RootPlace }

/** More levels are never entered: each holds a descriptor. */
export const mostDepth = 100

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
const openFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW

type Level = { fd: number; path: string; entries: Iterator<Dirent> }

/** Gives 'deeper' where a folder was not entered because it lies too deep. Throws if the path is no folder. */
export function* walkFolder(
  root: Root,
  path: string,
  { ignored, depth, foldersLast = false }: WalkOptions,
): Generator<WalkedEntry | 'deeper'> {
  const levels: Level[] = [firstLevel(root, path, foldersLast)]
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const { value: entry, done } = level.entries.next()
      if (done) {
        levels.pop()
        closeSync(level.fd)
        continue
      }
      const place = placeIn(level, entry.name)
      const kind = entryKind(entry)
      yield { kind, name: entry.name, place }
      if (kind !== 'folder' || ignored.has(entry.name)) continue
      if (levels.length < depth) {
        const below = levelAt(root, place, foldersLast)
        if (below) levels.push(below)
      } else if (depth >= mostDepth) yield 'deeper'
    }
  } finally {
    for (const { fd } of levels) closeSync(fd)
  }
}

function firstLevel(root: Root, path: string, foldersLast: boolean): Level {
  return root.at(path, 'follow', place => {
    const kind = kindAt(place)
    if (kind === undefined) throw nothingThere(place.path)
    if (kind !== 'folder') throw fileError(place.path, 'is not a folder.')
    const fd = root.open(place, O_RDONLY | O_DIRECTORY)
    return { fd, path: place.path, entries: readEntries(fd, foldersLast) }
  })
}

/** Undefined: it is gone by now, may not be read, or is not for tools. */
function levelAt(root: Root, { at, path }: RootPlace, foldersLast: boolean): Level | undefined {
  let fd: number
  try {
    fd = openSync(at, openFolder)
  } catch {
    return undefined
  }
  if (root.holds(fd) && !isPrivate(fstatSync(fd))) return { fd, path, entries: readEntries(fd, foldersLast) }
  closeSync(fd)
  return undefined
}

function readEntries(fd: number, foldersLast: boolean): Iterator<Dirent> {
  const entries = readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true })
  const rank = (entry: Dirent): number => (foldersLast && entry.isDirectory() ? 1 : 0)
  entries.sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1))
  return entries.values()
}

function placeIn({ fd, path }: Level, name: string): RootPlace {
  return { folder: fd, name, at: `/proc/self/fd/${fd}/${name}`, path: path === '' ? name : `${path}/${name}` }
}

const entryKind = (entry: Dirent): Kind =>
  entry.isSymbolicLink() ? 'link' : entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other'
