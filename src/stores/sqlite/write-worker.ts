// The program of the thread that writes. It has the only connection that writes to the file, commits one group after the
// other, and answers each with its results. The last connection to close is this one, so that the work of closing
// (checkpoint, syncs) is also done here.
import { parentPort, workerData } from 'node:worker_threads'
import { Connection } from './connection.ts'
import { writeGroup } from './write-group.ts'
import type { WriterSetup } from './write-thread.ts'
import type { SentWrite } from './writes.ts'

const { options, places } = workerData as WriterSetup // It is started by write-thread.ts only.
const connection = new Connection(options, places)
connection.open()

parentPort?.on('message', (message: readonly SentWrite[] | 'close') => {
  if (message !== 'close') {
    parentPort?.postMessage(writeGroup(connection, message))
    return
  }
  connection.close()
  parentPort?.close()
})
