// The worker of parse-soon.ts: one text in, whole or in pieces, its value or its fault out.
import { parentPort } from 'node:worker_threads'
import { errorMessage } from '../text/error-message.ts'
import { JsonError, type JsonLimits, parseJson } from './index.ts'
import { decodeUtf8, type ParseMessage, type ParseReply } from './parse-soon.ts'

/** Of the text that is being sent. */
let pieces: Uint8Array[] = []

function parse(text: string | undefined, limits: JsonLimits): ParseReply {
  const bytes = pieces
  pieces = []
  try {
    return { value: parseJson(text ?? decodeUtf8(Buffer.concat(bytes)), limits) }
  } catch (error) {
    if (!(error instanceof JsonError)) return { failed: errorMessage(error) }
    const { reason, offset, message } = error
    return { refused: { reason, offset, message } }
  }
}

parentPort?.on('message', (message: ParseMessage) => {
  if ('piece' in message) pieces.push(message.piece)
  else parentPort?.postMessage(parse(message.text, message.limits))
})
