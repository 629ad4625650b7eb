// Sockets that have not signed in yet. Anyone can open one, so their number and bytes are limited, and the oldest are
// closed for newer ones: strangers who hold sockets open keep no machine from signing in.
import type { Socket } from '../../lib/net/socket.ts'

/** The members that are used of the connection under a socket. */
export type UnsignedConnection = {
  readonly remoteAddress?: string | undefined
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  off(event: 'data', listener: (chunk: Uint8Array) => void): unknown
}

const mostUnsigned = 256
/** More than the largest first frame: a token, a name and a description. */
const mostBytes = 20 * 1024

export class Unsigned {
  /** With the network that each comes from. Oldest first. */
  readonly #sockets = new Map<Socket, string>()

  /** Call the result when the socket has signed in or closed. */
  add(socket: Socket, connection: UnsignedConnection | undefined): () => void {
    if (this.#sockets.size >= mostUnsigned) this.#evict()
    this.#sockets.set(socket, addressNetwork(connection?.remoteAddress ?? ''))
    let bytes = 0
    // A frame would be kept until it is whole, so its size is not waited for.
    const count = (chunk: Uint8Array): void => {
      bytes += chunk.length
      if (bytes > mostBytes && this.#sockets.has(socket)) socket.terminate()
    }
    connection?.on('data', count)
    return () => {
      this.#sockets.delete(socket)
      connection?.off('data', count)
    }
  }

  /** The oldest socket of the network that has most of them. */
  #evict(): void {
    const counts = new Map<string, number>()
    for (const network of this.#sockets.values()) counts.set(network, (counts.get(network) ?? 0) + 1)
    const most = Math.max(...counts.values())
    for (const [socket, network] of this.#sockets) {
      if (counts.get(network) !== most) continue
      this.#sockets.delete(socket)
      socket.terminate()
      return
    }
  }
}

/** An address of version 4; of version 6 the first half, which one subscriber has as a whole. */
export function addressNetwork(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address.slice(address.lastIndexOf(':') + 1)
  const [before = [], after = []] = address.split('::').map(part => part.split(':').filter(Boolean))
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0')
  return [...before, ...zeros, ...after].slice(0, 4).join(':')
}
