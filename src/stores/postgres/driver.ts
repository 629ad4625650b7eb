// Loads the PostgreSQL client when it is first needed, and sets it up. If the address names several hosts, they are
// tried in turn, and one that takes no writes is passed over.
import { connect, type Socket } from 'node:net'
import type postgres from 'postgres'
import { TurnwireError } from '../../language/errors.ts'
import type { DatabaseOptions } from './database.ts'

export type Client = postgres.Sql<{ int8: number }>

const CONNECT_SECONDS = 5

/**
 * `prepare`: statements may have names. Else none has, not even the client's own. `turn`: which of the hosts it connects to,
 * counted from 0 and without an end.
 */
export async function loadDriver(
  { url, connections = 10 }: DatabaseOptions,
  { prepare, turn }: { prepare: boolean; turn: number },
): Promise<Client> {
  const make = await loadClient()
  try {
    return make(url, {
      max: connections,
      prepare,
      connect_timeout: CONNECT_SECONDS,
      // It asks the server for all its types otherwise. The store's statements need none.
      fetch_types: false,
      // database.ts waits between its attempts, so the client need not.
      backoff: () => 0,
      connection: { application_name: 'turnwire' },
      onnotice: () => {},
      types: { int8: { to: 20, from: [20], parse: Number, serialize: String } },
      ...oneOfSeveral(url, turn),
    })
  } catch (cause) {
    // The client's words may repeat the address, and so the password.
    throw new TurnwireError(
      'store_failed',
      'The address of the database cannot be read. It has the form postgres://user:password@host:5432/database, with %-escapes in the password.',
      { cause },
    )
  }
}

/** It is an optional peer: only programs that keep sessions in PostgreSQL install it. */
async function loadClient(): Promise<typeof postgres> {
  try {
    return (await import('postgres')).default
  } catch (cause) {
    throw new TurnwireError(
      'config_invalid',
      'Sessions are to be kept in PostgreSQL, but its client is not installed. Install it: npm i postgres',
      { cause },
    )
  }
}

type Host = { host: string; port: number }

function parseHosts(url: string): Host[] {
  const [, hosts = ''] = /^[a-z]+:\/\/(?:[^@/]*@)?([^/?]*)/i.exec(url) ?? []
  return hosts.split(',').map(each => {
    const [, host = 'localhost', port = '5432'] = /^(.*?)(?::(\d+))?$/.exec(each) ?? []
    return { host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }
  })
}

/**
 * The client could try several hosts itself, but asks in a loop without a pause while none answers, and does not pass over
 * a standby.
 */
function oneOfSeveral(url: string, turn: number): object {
  const hosts = parseHosts(url)
  if (hosts.length === 1) return {}
  const { host, port } = hosts[turn % hosts.length]!
  const wanted = new URL(url.replace(/,[^/?]*/, '')).searchParams.get('target_session_attrs')
  // Without a socket of ours it would take the hosts from the address.
  const socket = (): Socket => Object.assign(connect({ host, port }), { host })
  return { host, port, socket, target_session_attrs: wanted ?? 'primary' }
}
