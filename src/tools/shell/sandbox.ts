// The walls around a command: bubblewrap's arguments. No network, no host processes, no environment of the host, a read-only
// system, and one folder that can be written. Without bubblewrap nothing is run.
import { accessSync, constants, existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'

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
  if (given !== undefined) return isProgram(given) ? given : undefined
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute)
  return folders.map(folder => join(folder, 'bwrap')).find(isProgram)
}

export const missingBubblewrap =
  'bubblewrap is not installed, and commands are never run without it. Install it (on Debian: apt-get install bubblewrap).'

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** `infoFd`: where bubblewrap says the number of the process inside. */
export function sandboxArguments({ root, readable, env, temporaryBytes }: Sandbox, infoFd: number): string[] {
  const size = String(temporaryBytes)
  return [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'],
    ...['--uid', '1000', '--gid', '1000', '--hostname', 'sandbox'],
    ...['--ro-bind', '/usr', '/usr'],
    ...systemFolders.flatMap(systemFolder),
    ...systemFiles.flatMap(path => ['--ro-bind-try', path, path]),
    ...readable.flatMap(path => ['--ro-bind', realpathSync(path), path]),
    ...['--proc', '/proc', '--dev', '/dev', '--size', size, '--tmpfs', '/dev/shm'],
    ...['--size', size, '--tmpfs', '/tmp', '--bind', realpathSync(root), workspaceFolder],
    // What is left of the root and of /dev is in memory, and not to be filled.
    ...['--remount-ro', '/dev', '--remount-ro', '/', '--chdir', workspaceFolder],
    ...Object.entries({ ...baseEnvironment, ...env }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--info-fd', String(infoFd)],
  ]
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

/** On most systems a link into /usr. */
function systemFolder(path: string): string[] {
  if (!existsSync(path)) return []
  return lstatSync(path).isSymbolicLink()
    ? ['--symlink', readlinkSync(path), path]
    : ['--ro-bind', path, path]
}
