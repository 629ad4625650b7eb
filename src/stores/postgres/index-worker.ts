// The program of the thread that keeps the index of a PostgreSQL database.
import { workerData } from 'node:worker_threads'
import { serveIndex } from '../log-index/serve-index.ts'
import { Database, type DatabaseOptions } from './database.ts'
import { PostgresLogIndex } from './log-index.ts'

const { schema, ...options } = workerData as DatabaseOptions & { schema: string } // It is started by index.ts only.
serveIndex(new PostgresLogIndex(new Database({ ...options, connections: 2 }), schema))
