// Folders of this process that its tools must not reach. A folder is known by its descriptor, not by its path: it is found
// again after it was moved, and under each further path that a bind mount gives it. On systems without /proc the path counts.
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInFolder } from './paths.ts'

type PrivateFolder = { fd: number; path: string; dev: number; ino: number; users: number }
type Identity = { dev: number; ino: number }

const folders = new Map<string, PrivateFolder>()
/** Those that another thread of the process keeps. */
let adopted: ReadonlySet<string> = new Set()

/** For a thread that works for this one: see `adoptPrivate`. */
export function privateIdentities(): string[] {
  return [...folders.keys(), ...adopted]
}

/** In a thread: these folders are private from here on, and no others. */
export function adoptPrivate(identities: readonly string[]): void {
  adopted = new Set(identities)
}

/** Returns a function that releases the folder. Several callers may keep the same folder independently. */
export function keepPrivate(path: string): () => void {
  // The tools that would reach it exist on Linux only.
  if (process.platform === 'win32') return () => {}
  const fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  const { dev, ino } = fstatSync(fd)
  const key = `${dev}:${ino}`
  const known = folders.get(key)
  if (known) closeSync(fd)
  const folder = known ?? { fd, path, dev, ino, users: 0 }
  folder.users += 1
  folders.set(key, folder)
  let isKept = true
  return () => {
    if (!isKept) return
    isKept = false
    folder.users -= 1
    if (folder.users > 0) return
    folders.delete(key)
    closeSync(folder.fd)
  }
}

export function isPrivate({ dev, ino }: Identity): boolean {
  return folders.has(`${dev}:${ino}`) || adopted.has(`${dev}:${ino}`)
}

/** The private folder that a path is in, or is; undefined if it is in none. */
export function privateFolderAround(path: string): string | undefined {
  for (let at = path; folders.size + adopted.size > 0; at = dirname(at)) {
    const found = folderIdentity(at)
    if (found && isPrivate(found)) return at
    if (at === dirname(at)) break
  }
  return undefined
}

/** Every path by which a private folder can be reached now. */
export function privatePaths(): string[] {
  return [...folders.values()].flatMap(folder => {
    const path = currentPath(folder)
    const isThere = (at: string): boolean => {
      const found = folderIdentity(at)
      return found?.dev === folder.dev && found.ino === folder.ino
    }
    return [...new Set([path, ...otherPaths(path, mounts())])].filter(isThere)
  })
}

function currentPath({ fd, path }: PrivateFolder): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return path
  }
}

function folderIdentity(path: string): Identity | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** The folder `root` of `device` is mounted at `point`. */
export type Mount = { device: string; root: string; point: string }

/** Where else the same folder is, by the mounts that show a part of the same device. */
export function otherPaths(path: string, all: readonly Mount[]): string[] {
  // Of several mounts at one point the last one is visible.
  const own = all
    .filter(({ point }) => isInFolder(point, path))
    .reduce<Mount | undefined>(
      (best, mount) => (best && best.point.length > mount.point.length ? best : mount),
      undefined,
    )
  if (!own) return []
  const onDevice = join(own.root, path.slice(own.point.length))
  return all
    .filter(({ device, root }) => device === own.device && isInFolder(root, onDevice))
    .map(({ root, point }) => join(point, onDevice.slice(root.length)))
}

function mounts(): Mount[] {
  let text: string
  try {
    text = readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return []
  }
  return text.split('\n').flatMap(line => {
    const [, , device, root, point] = line.split(' ')
    if (device === undefined || root === undefined || point === undefined) return []
    return [{ device, root: unescaped(root), point: unescaped(point) }]
  })
}

/** Spaces and a few other characters are written as `\040`. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
}
