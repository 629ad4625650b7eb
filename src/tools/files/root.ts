// Confines paths to one folder. A path is walked component by component with file descriptors of the folders
// (`/proc/self/fd/<n>/<name>`, opened with O_NOFOLLOW), never resolved by its text. So a link that is swapped while we walk
// is an error, never a way out. Links that stay inside are followed by hand. An opened file or folder is checked again:
// one that was moved out of the root meanwhile is refused. Private folders of this process are refused too; they are
// known by device and inode, so the path does not matter. Linux only (docs/decisions: confined by descriptors).
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { InvalidInput } from '../../engine/ports/index.ts'
import { isInFolder } from '../../lib/files/paths.ts'
import { isPrivate, privateFolderAround } from '../../lib/files/private-folders.ts'
import { quote } from '../../lib/text/index.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
const openFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
const longestPath = 4096
const mostLinks = 40

/** A name in an open folder. `at` is the path to use with it while the folder is open. */
export type RootPlace = {
  readonly folder: number
  readonly name: string
  readonly at: string
  /** From the root, with `/` between names; '' is the root itself. */
  readonly path: string
}

/** The error that a model is told about a wrong path. Nothing was done. */
export class PathRefused extends InvalidInput {}

/** There is nothing at the path, or a folder on its way is missing. */
export class NothingThere extends PathRefused {}

export function fileError(path: string, problem: string): PathRefused {
  return new PathRefused(`${quote(path === '' ? '.' : path, 200)} ${problem}`)
}

export function nothingThere(path: string): NothingThere {
  return new NothingThere(`${quote(path === '' ? '.' : path, 200)} does not exist.`)
}

export class Root {
  /** The folder itself, with no link in its path. */
  readonly path: string

  constructor(path: string) {
    if (!existsSync('/proc/self/fd'))
      throw new Error(
        'Files can be confined to a folder on Linux only: there is no /proc/self/fd here. Leave these tools out.',
      )
    this.path = realpathSync(path)
    closeSync(openSync(this.path, openFolder))
  }

  /**
   * Gives `use` the place of a path and closes its folder afterwards. `last`: whether a link at the end is followed, so that
   * the place is of what it points to, or is itself the place.
   */
  at<Result>(path: string, last: 'follow' | 'keep', use: (place: RootPlace) => Result): Result {
    const walk = new RootWalk(this, path)
    try {
      const result = use(walk.to(last))
      if (!(result instanceof Promise)) return result
      // The folders stay open until the work in them is over.
      return walk.closeAfter(result) as Result
    } finally {
      walk.close()
    }
  }

  /** The path as people see it. */
  absolute(path: string): string {
    return join(this.path, path)
  }

  /** Opens what is at a place, if it is neither a link nor outside by now. */
  open(place: RootPlace, flags: number, mode?: number): number {
    const fd = openPlace(place, flags, mode)
    const problem = !this.holds(fd)
      ? fileError(place.path, 'was moved out of the workspace meanwhile.')
      : isPrivate(fstatSync(fd))
        ? kept(place.path)
        : undefined
    if (!problem) return fd
    closeSync(fd)
    throw problem
  }

  /** Whether an open file or folder lies in the root now. */
  holds(fd: number): boolean {
    return isInFolder(this.path, readlinkSync(`/proc/self/fd/${fd}`))
  }

  /** The names of a path that was given: relative, or absolute and inside. */
  splitPath(path: string): string[] {
    if (path.length > longestPath) throw fileError(path, 'is too long.')
    if (path.includes('\0')) throw fileError(path, 'holds a zero character.')
    if (!isAbsolute(path)) return path.split('/')
    if (path === this.path) return []
    const start = this.path === '/' ? '/' : `${this.path}/`
    if (!path.startsWith(start)) throw outside(path)
    return path.slice(start.length).split('/')
  }
}

export function outside(path: string): PathRefused {
  return fileError(path, 'lies outside of the workspace. Use a path relative to its root.')
}

/** The error for a path in the server's own data folder. */
export function kept(path: string): PathRefused {
  return fileError(path, 'belongs to the data folder of this server, which tools do not reach.')
}

/** One way from the root to a place. It holds the folders on the way open. */
class RootWalk {
  readonly #root: Root
  readonly #given: string
  /** The root and the folders below it that were entered. */
  readonly #folders: { fd: number; name: string }[] = []
  #names: string[]
  #links = 0
  #isKept = false

  constructor(root: Root, given: string) {
    this.#root = root
    this.#given = given
    this.#names = root.splitPath(given)
    if (privateFolderAround(root.path) !== undefined) throw kept(given)
    this.#folders.push({ fd: openSync(root.path, openFolder), name: '' })
  }

  to(last: 'follow' | 'keep'): RootPlace {
    for (;;) {
      const name = this.#names.shift()
      if (name === undefined) return this.#place('.')
      if (name === '' || name === '.') continue
      if (name === '..') this.#leave()
      else {
        const isLast = this.#names.every(rest => rest === '' || rest === '.')
        if (isLast && last === 'keep') return this.#place(name)
        const link = isLast ? this.#linkAt(name) : this.#enter(name)
        if (link !== undefined) this.#follow(link)
        else if (isLast) return this.#place(name)
      }
    }
  }

  close(): void {
    if (this.#isKept) return
    for (const { fd } of this.#folders.splice(0)) closeSync(fd)
  }

  closeAfter<Value>(work: Promise<Value>): Promise<Value> {
    this.#isKept = true
    return work.finally(() => {
      this.#isKept = false
      this.close()
    })
  }

  get #current(): number {
    return this.#folders.at(-1)!.fd
  }

  get #path(): string {
    return this.#folders
      .slice(1)
      .map(({ name }) => name)
      .join('/')
  }

  #place(name: string): RootPlace {
    const folder = this.#current
    if (!this.#root.holds(folder)) throw fileError(this.#given, 'was moved out of the workspace meanwhile.')
    const path = name === '.' ? this.#path : this.#path === '' ? name : `${this.#path}/${name}`
    const place = { folder, name, at: `/proc/self/fd/${folder}/${name}`, path }
    const found = lstatSync(place.at, { throwIfNoEntry: false })
    if (found && isPrivate(found)) throw kept(path)
    return place
  }

  #leave(): void {
    if (this.#folders.length === 1) throw outside(this.#given)
    closeSync(this.#folders.pop()!.fd)
  }

  /** Enters a folder. If the name is a link, the link is not entered and its target is returned. */
  #enter(name: string): string | undefined {
    let fd: number
    try {
      fd = openSync(`/proc/self/fd/${this.#current}/${name}`, openFolder)
    } catch (error) {
      const link = this.#linkAt(name)
      if (link !== undefined) return link
      throw openProblem(error, this.#given)
    }
    this.#folders.push({ fd, name })
    if (isPrivate(fstatSync(fd))) throw kept(this.#given)
    return undefined
  }

  /** The target of a link. Undefined if there is no link of this name. */
  #linkAt(name: string): string | undefined {
    const at = `/proc/self/fd/${this.#current}/${name}`
    try {
      return lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(at) : undefined
    } catch {
      return undefined
    }
  }

  #follow(target: string): void {
    this.#links += 1
    if (this.#links > mostLinks) throw fileError(this.#given, 'has too many links on its way.')
    if (isAbsolute(target))
      throw fileError(this.#given, 'leads through a link that lies outside of the workspace.')
    this.#names = [...target.split('/'), ...this.#names]
  }
}

/** The device and FIFO checks come before the open, since opening one can already do something. */
function openPlace({ at, path }: RootPlace, flags: number, mode?: number): number {
  try {
    return openSync(at, flags | O_NOFOLLOW | O_NONBLOCK, mode)
  } catch (error) {
    throw openProblem(error, path)
  }
}

export function openProblem(error: unknown, path: string): Error {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  switch (code) {
    case 'ENOENT':
      return nothingThere(path)
    case 'ENOTDIR':
      return fileError(path, 'does not exist: a part of it is no folder.')
    case 'ELOOP':
      return fileError(path, 'was replaced by a link meanwhile.')
    case 'EEXIST':
      return fileError(path, 'exists already.')
    case 'EACCES':
    case 'EPERM':
      return fileError(path, 'may not be opened: permission is denied.')
    case 'EISDIR':
      return fileError(path, 'is a folder.')
    case 'ENAMETOOLONG':
      return fileError(path, 'is too long.')
    case 'ENXIO':
      return fileError(path, 'is not a regular file.')
    default:
      return error instanceof Error ? error : new Error('A file could not be opened.')
  }
}

export type Kind = 'file' | 'folder' | 'link' | 'other'

/** The kind of the entry at a place, without opening it. Undefined if there is nothing. */
export function kindAt({ at, path }: RootPlace): Kind | undefined {
  try {
    const stat = lstatSync(at, { throwIfNoEntry: false })
    if (!stat) return undefined
    if (stat.isSymbolicLink()) return 'link'
    return stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : 'other'
  } catch (error) {
    throw openProblem(error, path)
  }
}

/** A regular file, opened for reading. The caller closes it. */
export function openFile(
  root: Root,
  place: RootPlace,
  mayBeLinked: boolean,
): { fd: number; mode: number; size: number } {
  const kind = kindAt(place)
  if (kind === undefined) throw nothingThere(place.path)
  if (kind === 'folder') throw fileError(place.path, 'is a folder.')
  if (kind === 'other') throw fileError(place.path, 'is not a regular file.')
  const fd = root.open(place, O_RDONLY)
  const stat = fstatSync(fd)
  const problem = !stat.isFile()
    ? 'is not a regular file.'
    : stat.nlink > 1 && !mayBeLinked
      ? 'has a second name (a hard link), which may lie outside of the workspace, so it is not used.'
      : undefined
  if (problem === undefined) return { fd, mode: stat.mode & 0o7777, size: stat.size }
  closeSync(fd)
  throw fileError(place.path, problem)
}
