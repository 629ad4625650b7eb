// The program of the thread that keeps the index of a database file.
import { workerData } from 'node:worker_threads'
import { serveIndex } from '../log-index/serve-index.ts'
import { SqliteLogIndex } from './log-index.ts'

const { file } = workerData as { file: string } // It is started by index.ts only.
serveIndex(new SqliteLogIndex(file))
