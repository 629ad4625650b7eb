// The program of the thread that writes. It has a connection of its own, commits one group after the other, and answers
// each with its results. The last connection to close is this one, so that the work of closing
// (checkpoint, syncs) is also done here.
import { parentPort, workerData } from 'node:worker_threads'
import { Connection } from './connection.ts'
import { writeGroup } from './group-commit.ts'
import type { ThreadMessage, ThreadReply, WriterSetup } from './write-thread.ts'

const { options, places } = workerData as WriterSetup // It is started by write-thread.ts only.
const connection = new Connection(options, places)
connection.open()

parentPort?.on('message', (message: ThreadMessage) => {
  if (message === 'close') {
    connection.close()
    parentPort?.close()
  } else parentPort?.postMessage(message === 'checkpoint' ? checkpoint() : commit(message))
})

function checkpoint(): ThreadReply {
  connection.checkpoint()
  return { result: [], commitMs: 0 }
}

function commit({ writes, isDistrusted }: Exclude<ThreadMessage, string>): ThreadReply {
  if (isDistrusted) connection.distrust()
  const result = writeGroup(connection, writes)
  return { result, commitMs: connection.takeCommitMs() }
}
