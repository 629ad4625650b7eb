// The socket in a data folder, by which other processes of the same user reach the engine that has the folder. Paths of
// sockets may have about 100 bytes, so a long one is reached through a short link in the folder for temporary files.
import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sha256 } from '../../lib/hash.ts'

const socketName = 'engine.sock'
const longestPath = 100

export type FolderSocket = { close(): Promise<void> }

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
