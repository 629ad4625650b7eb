// Finds the engine of a data folder: this process takes the folder if it is free, and otherwise connects to the process
// that has it.
import { setTimeout as pause } from 'node:timers/promises'
import type { Engine } from '../../engine/ports/boundary.ts'
import { TurnwireError } from '../../language/errors.ts'
import { connectEngine, connectTo, type RemoteEngine, readSecret, streamChannel } from '../socket/index.ts'
import { type FolderPorts, portsBy } from './folder-calls.ts'
import { FolderOwner, type FolderSetup, type Hello, type LeavingNote } from './folder-owner.ts'

/** How long to try while the lock is held by a process that does not answer. */
const ownerPatienceMs = 15_000
/** How long to wait for the server that a folder was given up for. */
const serverPatienceMs = 10_000
/** How long a process that has the folder may take to answer. */
const helloMs = 5000
const pauseMs = 25

/** The engine of a folder, and whether it runs in this process. */
export type FoundEngine = {
  engine: Engine
  ports: FolderPorts
  owner?: FolderOwner
  remote?: RemoteEngine
  /** It can no longer be used, or it stops. */
  readonly over: boolean
  /** Resolves once the engine is gone. `server`: a server takes the folder. */
  ended: Promise<{ server: boolean }>
  /** The same, for a program that has to wait for it. */
  untilGone(): Promise<void>
  close(): Promise<void>
}

export type FindOptions = {
  /** A server is about to take the folder, so leave it alone for a while. */
  server: boolean
  /** Whether this process runs tools that are attached to sessions. */
  hasAttachments: () => boolean
}

export async function findEngine(
  setup: FolderSetup,
  { server, hasAttachments }: FindOptions,
): Promise<FoundEngine> {
  const began = performance.now()
  for (;;) {
    const waited = performance.now() - began
    const owner =
      server && waited < serverPatienceMs ? undefined : await FolderOwner.take(setup, hasAttachments)
    const found = owner ? ownEngine(owner) : await connect(setup.folder, setup.version)
    if (found) return found
    if (waited > ownerPatienceMs)
      throw new TurnwireError(
        'store_locked',
        `Another process has the data folder ${setup.folder}, and does not answer. Stop it first.`,
      )
    await pause(pauseMs)
  }
}

function ownEngine(owner: FolderOwner): FoundEngine {
  return {
    untilGone: () => owner.ended,
    engine: owner.engine,
    ports: owner.ports,
    owner,
    get over() {
      return owner.leaving
    },
    ended: owner.ended.then(() => ({ server: owner.serverComes })),
    close: () => owner.leave(),
  }
}

/** Undefined: nobody answers. Also for commands that only look and must not take the folder. */
export async function connect(folder: string, ownVersion: string): Promise<FoundEngine | undefined> {
  const socket = await connectTo(folder)
  if (!socket) return undefined
  const channel = streamChannel(socket)
  let over = false
  let server = false
  const remote = connectEngine(channel, {
    onNote: note => {
      over = true
      server ||= (note as LeavingNote).server // An owner sends no other note.
    },
  })
  const ended = channel.closed.then(() => {
    over = true
    return { server }
  })
  const late = setTimeout(() => channel.close(), helloMs)
  try {
    // Every version answers with this. The secret was made before the socket, so it is there by now.
    const { version, pid } = (await remote.ask('hello', readSecret(folder) ?? '')) as Hello
    if (version !== ownVersion)
      throw new TurnwireError(
        'config_invalid',
        `Process ${pid} has the data folder ${folder} and runs Turnwire ${version}; this is ${ownVersion}. Stop it first.`,
      )
  } catch (error) {
    channel.close()
    if (over) return undefined
    throw error
  } finally {
    clearTimeout(late)
  }
  return {
    engine: remote,
    ports: portsBy((port, name, args) => remote.ask(port, name, ...args)),
    remote,
    get over() {
      return over
    },
    ended,
    untilGone: async () => {
      channel.keepAlive(true)
      await ended
    },
    close: async () => {
      channel.close()
      await ended
    },
  }
}
