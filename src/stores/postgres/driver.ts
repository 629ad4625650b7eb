// Loads the PostgreSQL client when it is first needed, and sets it up: several hosts are tried in turn.
import type postgres from 'postgres'
import type { DatabaseOptions } from './database.ts'

const CONNECT_SECONDS = 5

export async function loadDriver(options: DatabaseOptions): Promise<postgres.Sql<{ int8: number }>> {
  const { default: make } = await import('postgres')
  return make(options.url, {
    max: options.connections ?? 10,
    connect_timeout: CONNECT_SECONDS,
    // It asks the server for all its types otherwise. The store's statements need none.
    fetch_types: false,
    // The client's own pauses between attempts to connect: the store has pauses of its own.
    backoff: () => 0,
    connection: { application_name: 'turnwire' },
    onnotice: () => {},
    types: { int8: { to: 20, from: [20], parse: Number, serialize: String } },
  })
}
