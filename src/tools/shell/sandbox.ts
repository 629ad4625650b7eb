// The walls around a command: bubblewrap's arguments. No network, no host processes, no environment of the host, a read-only
// system, and one folder that can be written. Private folders of this process are covered wherever they would be seen.
// Without bubblewrap nothing is run.
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, join } from 'node:path'
import { isExecutable } from '../../lib/files/is-executable.ts'
import { isInFolder } from '../../lib/files/paths.ts'
import { privatePaths } from '../../lib/files/private-folders.ts'

export type Sandbox = {
  /** Bubblewrap's own path. */
  program: string
  /** The folder that commands see as `/workspace`. */
  root: string
  /** Further folders and files of the host that commands may read, at the same paths. */
  readable: readonly string[]
  env: Readonly<Record<string, string>>
  /** Bytes of `/tmp` and `/dev/shm`, which are in memory. */
  temporaryBytes: number
}

export const workspaceFolder = '/workspace'

/** The path of bubblewrap: what was given, or the first in PATH. Undefined: there is none. */
export function findBubblewrap(given?: string): string | undefined {
  if (given !== undefined) return isExecutable(given) ? given : undefined
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute)
  return folders.map(folder => join(folder, 'bwrap')).find(isExecutable)
}

export const missingBubblewrap =
  'bubblewrap is not installed, and commands are never run without it. Install it (on Debian: apt-get install bubblewrap).'

/**
 * Descriptors of bubblewrap: `info`, where it says the number of the process inside; `filter`, with the refused system calls;
 * `go`, from which it reads before it starts the command.
 */
export type SandboxDescriptors = { info: number; filter: number; go: number }

/** The options, which say nothing of the command. Throws if a private folder could be reached. */
export function sandboxArguments(sandbox: Sandbox, { info, filter, go }: SandboxDescriptors): string[] {
  const { root, readable, env, temporaryBytes } = sandbox
  const problem = exposedFolder(sandbox)
  if (problem !== undefined) throw new SandboxFailed(`Its tool ${problem}`)
  const size = String(temporaryBytes)
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--die-with-parent', '--new-session'],
    ...['--clearenv', '--cap-drop', 'ALL'],
    ...['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    ...['--ro-bind', '/usr', '/usr'],
    ...systemFolders.flatMap(systemFolder),
    ...systemFiles.flatMap(path => ['--ro-bind-try', path, path]),
    ...bound(readable),
    ...['--proc', '/proc', '--dev', '/dev', '--size', size, '--tmpfs', '/dev/shm'],
    ...['--size', size, '--tmpfs', '/tmp', ...bound(readable.filter(path => isInFolder('/tmp', path)))],
    ...['--bind', realpathSync(root), workspaceFolder],
    ...coversPath(sandbox),
    // The rest of the root and of /dev is in memory: read-only, so that a command cannot fill it.
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', workspaceFolder],
    ...Object.entries({ ...baseEnvironment, ...env }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--info-fd', String(info), '--seccomp', String(filter), '--block-fd', String(go)],
  ]
}

const bound = (paths: readonly string[]): string[] =>
  paths.flatMap(path => ['--ro-bind', realpathSync(path), path])

/** The sandbox could not be made, so that nothing was run. */
export class SandboxFailed extends Error {}

/** Host folders and files that commands see, and where. */
function seen({ root, readable }: Pick<Sandbox, 'root' | 'readable'>): { host: string; inside: string }[] {
  const same = ['/usr', ...systemFolders.filter(isOwnFolder), ...systemFiles, ...readable].filter(path =>
    existsSync(path),
  )
  return [
    ...same.map(path => ({ host: realpathSync(path), inside: path })),
    { host: realpathSync(root), inside: workspaceFolder },
  ]
}

/** A private folder that cannot be covered, because commands are given it or a part of it. It completes "the tool …". */
export function exposedFolder(sandbox: Pick<Sandbox, 'root' | 'readable'>): string | undefined {
  const paths = privatePaths()
  if (paths.length === 0) return undefined
  const given = seen(sandbox).find(({ host }) => paths.some(path => isInFolder(path, host)))
  return given && `gives commands ${given.host}, which is the data folder or lies in it.`
}

/**
 * An empty folder over each private one. The folders above it are mounts of their own, which a command cannot move: otherwise
 * the next command would find the private folder in another place, uncovered.
 */
function coversPath(sandbox: Sandbox): string[] {
  const paths = privatePaths()
  if (paths.length === 0) return []
  return seen(sandbox).flatMap(({ host, inside }) =>
    paths
      .filter(path => isInFolder(host, path))
      .flatMap(path => {
        const at = join(inside, path.slice(host.length))
        const above = inside === workspaceFolder ? foldersBetween(host, path) : []
        return [
          ...above.flatMap(folder => ['--bind', folder, join(inside, folder.slice(host.length))]),
          ...['--size', '4096', '--tmpfs', at, '--remount-ro', at],
        ]
      }),
  )
}

function foldersBetween(top: string, path: string): string[] {
  const folder = dirname(path)
  return folder === top || !isInFolder(top, folder) ? [] : [...foldersBetween(top, folder), folder]
}

const baseEnvironment = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: '/tmp',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
}

const systemFolders = ['/bin', '/sbin', '/lib', '/lib64', '/lib32', '/libx32']
/** Programs do not start, or not in the right place, without these. None of them tells of the host's users. */
const systemFiles = ['/etc/ld.so.cache', '/etc/alternatives', '/etc/localtime', '/etc/ssl/certs']

/** On most systems they are links into /usr. */
function isOwnFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function systemFolder(path: string): string[] {
  if (!existsSync(path)) return []
  return isOwnFolder(path) ? ['--ro-bind', path, path] : ['--symlink', readlinkSync(path), path]
}
