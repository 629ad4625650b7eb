// Reads and changes files of a workspace, all through `Root`. Texts are UTF-8 and bounded in size; a write is a new file
// that takes the place of the old one, so that no reader ever sees half of it and no other name of the old file changes.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fchmodSync,
  fsync,
  linkSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  write,
} from 'node:fs'
import { promisify } from 'node:util'
import { isInFolder } from '../../lib/files/paths.ts'
import { privatePaths } from '../../lib/files/private-folders.ts'
import { decodeText, readAll } from './read-text.ts'
import {
  fileError,
  type Kind,
  kept,
  kindAt,
  NothingThere,
  openFile,
  openProblem,
  Root,
  type RootPlace,
} from './root.ts'

const writeChunk = promisify(write)
const sync = promisify(fsync)

export type DiskOptions = {
  /** Larger files are refused. */
  maxFileBytes: number
  /** Files with a second name may be read. */
  hardLinks: boolean
}

/** A text file as it was found. `path` is relative to the root; `mode` are its permissions. */
export type FoundFile = { path: string; text: string; mode: number }

export class Disk {
  readonly root: Root
  readonly options: DiskOptions

  constructor(path: string, options: DiskOptions) {
    this.root = new Root(path)
    this.options = options
  }

  /** The text of a file; undefined if there is none. */
  async find(path: string): Promise<FoundFile | undefined> {
    try {
      return await this.read(path)
    } catch (error) {
      if (error instanceof NothingThere) return undefined
      throw error
    }
  }

  async read(path: string): Promise<FoundFile> {
    return this.root.at(path, 'follow', place => this.#read(place))
  }

  async #read(place: RootPlace): Promise<FoundFile> {
    const { maxFileBytes, hardLinks } = this.options
    const { fd, mode, size } = openFile(this.root, place, hardLinks)
    try {
      if (size > maxFileBytes)
        throw fileError(place.path, `has ${size} bytes; files of up to ${maxFileBytes} bytes are read.`)
      const bytes = await readAll(fd, maxFileBytes)
      if (bytes === undefined) throw fileError(place.path, `has more than ${maxFileBytes} bytes.`)
      return { path: place.path, text: decodeText(bytes, place.path), mode }
    } finally {
      closeSync(fd)
    }
  }

  /** `make`: the file must not exist. Otherwise it takes the place of what is there, with its permissions. */
  async write(path: string, text: string, how: 'make' | 'replace', mode = 0o644): Promise<void> {
    const bytes = Buffer.from(text)
    const { maxFileBytes } = this.options
    if (bytes.length > maxFileBytes)
      throw fileError(path, `would have ${bytes.length} bytes; files have up to ${maxFileBytes}.`)
    this.#makeFolders(path)
    return this.root.at(path, 'follow', async place => {
      const kind = kindAt(place)
      if (kind === 'folder' || kind === 'other') throw fileError(place.path, 'is not a regular file.')
      if (kind !== undefined && how === 'make') throw fileError(place.path, 'exists already.')
      await this.#put(place, bytes, how, mode)
    })
  }

  async #put(place: RootPlace, bytes: Buffer, how: 'make' | 'replace', mode: number): Promise<void> {
    const { O_WRONLY, O_CREAT, O_EXCL } = constants
    const temporary = nameIn(place, `.${randomBytes(9).toString('base64url')}.tmp`)
    try {
      const fd = this.root.open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0o600)
      try {
        await writeAll(fd, bytes)
        fchmodSync(fd, mode)
        await sync(fd)
      } finally {
        closeSync(fd)
      }
      if (!this.root.holds(place.folder))
        throw fileError(place.path, 'was moved out of the workspace meanwhile.')
      if (how === 'make') renameToFree(temporary, place)
      else renameSync(temporary.at, place.at)
    } catch (error) {
      throw openProblem(error, place.path)
    } finally {
      unlinkIfThere(temporary)
    }
  }

  /** A file or a link; a folder only if it is empty. */
  remove(path: string): string {
    return this.root.at(path, 'keep', place => {
      const kind = kindAt(place)
      if (kind === undefined) throw fileError(place.path, 'does not exist.')
      if (place.name === '.') throw fileError(place.path, 'is the workspace itself.')
      try {
        if (kind === 'folder') rmdirSync(place.at)
        else unlinkSync(place.at)
      } catch (error) {
        if (hasCode(error, 'ENOTEMPTY')) throw fileError(place.path, 'is a folder that is not empty.')
        throw openProblem(error, place.path)
      }
      return place.path
    })
  }

  /** The new name must be free. */
  move(from: string, to: string): { from: string; to: string; kind: Kind } {
    this.#makeFolders(to)
    return this.root.at(from, 'keep', source =>
      this.root.at(to, 'keep', target => {
        const kind = kindAt(source)
        if (kind === undefined) throw fileError(source.path, 'does not exist.')
        if (source.name === '.') throw fileError(source.path, 'is the workspace itself.')
        const from = this.root.absolute(source.path)
        if (privatePaths().some(path => isInFolder(from, path))) throw kept(source.path)
        if (target.name === '.' || kindAt(target) !== undefined)
          throw fileError(target.path, 'exists already.')
        try {
          // Folders have no hard links; a rename replaces only an empty one.
          if (kind === 'file') renameToFree(source, target)
          else renameSync(source.at, target.at)
        } catch (error) {
          if (hasCode(error, 'EINVAL')) throw fileError(target.path, 'lies inside of what is moved.')
          throw openProblem(error, target.path)
        }
        return { from: source.path, to: target.path, kind }
      }),
    )
  }

  isFolder(path: string): boolean {
    return this.root.at(path, 'follow', place => kindAt(place) === 'folder')
  }

  #makeFolders(path: string): void {
    const names = this.root.splitPath(path)
    const folder = names.slice(
      0,
      names.findLastIndex(name => name !== '' && name !== '.'),
    )
    for (let count = 1; count <= folder.length; count++) {
      const part = folder.slice(0, count).join('/')
      if (part === '' || part.endsWith('..') || part.endsWith('.')) continue
      this.root.at(part, 'follow', place => {
        if (kindAt(place) !== undefined) return
        try {
          mkdirSync(place.at)
        } catch (error) {
          if (!hasCode(error, 'EEXIST')) throw openProblem(error, place.path)
        }
      })
    }
  }
}

function nameIn({ folder, path }: RootPlace, name: string): RootPlace {
  return { folder, name, at: `/proc/self/fd/${folder}/${name}`, path }
}

function unlinkIfThere({ at }: RootPlace): void {
  try {
    unlinkSync(at)
  } catch {
    // It has taken its place.
  }
}

/** Fails if there is something by now: a hard link never replaces anything, and a rename does. */
function renameToFree(source: RootPlace, target: RootPlace): void {
  try {
    linkSync(source.at, target.at)
  } catch (error) {
    // Some file systems have no hard links.
    if (!['EPERM', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].some(code => hasCode(error, code))) throw error
    renameSync(source.at, target.at)
    return
  }
  unlinkSync(source.at)
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

async function writeAll(fd: number, bytes: Buffer): Promise<void> {
  let done = 0
  while (done < bytes.length) done += (await writeChunk(fd, bytes, done, bytes.length - done)).bytesWritten
}
