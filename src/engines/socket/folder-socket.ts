// The socket in a data folder, by which other processes of the same user reach the engine that has the folder. Beside
// it stands a secret that each of them has to know, so a process that can connect to the socket but not read the
// folder's files gets nothing. Paths of sockets may have about 100 bytes, so a long one is reached through a short link
// in the folder for temporary files.
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { replaceFile, textOfFile } from '../../lib/files/replace-file.ts'
import { sha256 } from '../../lib/json/hash.ts'

const socketName = 'engine.sock'
const secretName = 'engine.secret'
const longestPath = 100

export type FolderSocket = { close(): Promise<void> }

/** Makes a new secret. Only for the process that holds the lock of the folder, before it listens. */
export function makeSecret(folder: string): string {
  const secret = randomBytes(32).toString('base64url')
  replaceFile(join(folder, secretName), secret)
  return secret
}

/** Undefined: nobody has made one, or it cannot be read. */
export function readSecret(folder: string): string | undefined {
  try {
    return textOfFile(join(folder, secretName))
  } catch {
    return undefined
  }
}

export function isSecret(given: unknown, secret: string): boolean {
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(secret))
}

const digest = (text: string): Buffer => Buffer.from(sha256(text))

/** Only for the process that holds the lock of the folder: a socket that a killed process left is replaced. */
export async function listenIn(folder: string, onSocket: (socket: Socket) => void): Promise<FolderSocket> {
  const server = createServer(onSocket)
  if (process.platform === 'win32') await listen(server, pipeName(folder))
  else await listenPrivately(server, folder)
  // Visitors do not keep this process alive.
  server.unref()
  return {
    close: () =>
      new Promise(resolve => {
        rmSync(join(folder, secretName), { force: true })
        if (process.platform !== 'win32') rmSync(join(folder, socketName), { force: true })
        server.close(() => resolve())
      }),
  }
}

/** The socket is made in a folder that only its owner can enter, and moved to its place once its mode is set. */
async function listenPrivately(server: Server, folder: string): Promise<void> {
  const hidden = mkdtempSync(join(folder, '.socket-'))
  try {
    await withShortPath(hidden, path => listen(server, path))
    chmodSync(join(hidden, socketName), 0o600)
    renameSync(join(hidden, socketName), join(folder, socketName))
  } finally {
    rmSync(hidden, { recursive: true, force: true })
  }
}

/** Undefined: nobody listens. */
export async function connectTo(folder: string): Promise<Socket | undefined> {
  try {
    if (process.platform === 'win32') return await connected(pipeName(folder))
    return await withShortPath(folder, connected)
  } catch {
    return undefined
  }
}

async function withShortPath<Result>(
  folder: string,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const path = join(folder, socketName)
  if (Buffer.byteLength(path) <= longestPath) return use(path)
  const links = mkdtempSync(join(tmpdir(), 'tw-'))
  try {
    symlinkSync(folder, join(links, 'd'))
    return await use(join(links, 'd', socketName))
  } finally {
    rmSync(links, { recursive: true, force: true })
  }
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve()
    })
  })
}

function connected(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.off('error', reject)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

/** Windows has named pipes instead of sockets in folders. */
function pipeName(folder: string): string {
  return `\\\\.\\pipe\\turnwire-${sha256(folder)}`
}
