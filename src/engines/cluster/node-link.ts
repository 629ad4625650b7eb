// The connection between nodes: TLS 1.3 with the cluster's secret as a pre-shared key. Both ends prove that they know
// it, and nothing is readable on the way. There are no certificates. Its messages are those of engines/socket.
import { hkdfSync } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import { type Channel, streamChannel } from '../socket/index.ts'

/** Fewer characters could be guessed. */
const shortestSecret = 32

const tls = { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3', ciphers: 'TLS_AES_128_GCM_SHA256:PSK' } as const
const identity = 'turnwire-node'

/** How long a handshake may take. */
const handshakeMs = 5_000
/** Nothing may be said for this long before the kernel asks whether the peer is there. */
const keepAliveMs = 5_000

export type ClusterSecret = { key: Buffer }

/** Throws `config_invalid` if it is too short. */
export function clusterSecret(secret: string): ClusterSecret {
  if (secret.length < shortestSecret)
    throw new TurnwireError(
      'config_invalid',
      `The cluster secret needs at least ${shortestSecret} characters. Make one with: openssl rand -base64 32`,
    )
  return { key: Buffer.from(hkdfSync('sha256', secret, '', 'turnwire nodes', 32)) }
}

export type HostAndPort = { host: string; port: number }

/** Throws `config_invalid`. */
export function parseAddress(address: string, what: string): HostAndPort {
  const match = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(address)
  const port = Number(match?.[3])
  const host = match?.[1] ?? match?.[2]
  if (host === undefined || port > 65_535)
    throw new TurnwireError(
      'config_invalid',
      `${what} must be host:port, such as 10.0.0.7:4118; it is "${address}".`,
    )
  return { host, port }
}

export function formatAddress({ host, port }: HostAndPort): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** The peer at this address does not know the secret. */
export class OtherSecret extends Error {
  constructor() {
    super('it has another cluster secret, or is no node')
  }
}

export type NodeListener = { port: number; close(): Promise<void> }

/** `onChannel` is called with every peer that knows the secret. Port 0: any free one. */
export async function listenForNodes(
  { host, port }: HostAndPort,
  { key }: ClusterSecret,
  onChannel: (channel: Channel) => void,
): Promise<NodeListener> {
  const sockets = new Set<TLSSocket>()
  const server = createServer(
    { ...tls, handshakeTimeout: handshakeMs, pskCallback: (_, given) => (given === identity ? key : null) },
    socket => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      onChannel(prepared(socket))
    },
  )
  // A peer with another secret, or a stranger: it is told by TLS.
  server.on('tlsClientError', (_, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve()
    })
  }).catch(error => {
    const why = wordsOf(error)
    throw new TurnwireError(
      'config_invalid',
      `The node cannot listen for other nodes on ${formatAddress({ host, port })}: ${why}`,
    )
  })
  server.unref()
  return {
    port: (server.address() as AddressInfo).port, // It listens on TCP, so its address is never a path.
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Rejects with the reason if nobody answers there, or not with the same secret. */
export function connectToNode(address: HostAndPort, { key }: ClusterSecret): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      {
        ...tls,
        ...address,
        pskCallback: () => ({ psk: key, identity }),
        // A peer that does not know the key may show a certificate instead. No certificate is trusted.
        ca: [],
        checkServerIdentity: (_, certificate) =>
          Object.keys(certificate).length > 0 ? new OtherSecret() : undefined,
      },
      () => {
        // TLS reports a handshake with the pre-shared key as a resumed session. No other handshake is accepted.
        if (!socket.isSessionReused()) {
          fail(new OtherSecret())
          return
        }
        clearTimeout(late)
        socket.off('error', fail)
        resolve(prepared(socket))
      },
    )
    const fail = (error: Error): void => {
      clearTimeout(late)
      socket.destroy()
      // Set if the peer showed a certificate.
      const isStranger = Boolean(socket.authorizationError)
      reject(isStranger || isOtherSecret(error) ? new OtherSecret() : error)
    }
    const late = setTimeout(() => fail(new Error('it does not answer')), handshakeMs)
    late.unref()
    socket.once('error', fail)
  })
}

function prepared(socket: TLSSocket): Channel {
  socket.setNoDelay(true)
  socket.setKeepAlive(true, keepAliveMs)
  return streamChannel(socket)
}

function isOtherSecret({ code = '' }: Error & { code?: string }): boolean {
  return code.startsWith('ERR_SSL')
}
