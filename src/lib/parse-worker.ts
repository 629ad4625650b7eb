// The worker of parse-soon.ts: one text in, its value or its fault out.
import { parentPort } from 'node:worker_threads'
import { errorMessage } from './error-message.ts'
import { JsonError, parseJson } from './json.ts'
import { decodeUtf8, type ParseJob, type ParseReply } from './parse-soon.ts'

function parse({ bytes, limits }: ParseJob): ParseReply {
  try {
    return { value: parseJson(decodeUtf8(bytes), limits) }
  } catch (error) {
    if (!(error instanceof JsonError)) return { failed: errorMessage(error) }
    const { reason, offset, message } = error
    return { refused: { reason, offset, message } }
  }
}

parentPort?.on('message', (job: ParseJob) => parentPort?.postMessage(parse(job)))
