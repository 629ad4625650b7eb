// Streams a response as partial responses: text in pieces, then each call whole in a chunk of its own.
// Only a finish reason marks the last chunk; the stream has no other end.
import { type Frame, jsonFrame, splitText } from '../script.ts'
import type { JsonRecord } from '../shape.ts'

type StreamedCandidate = {
  parts: JsonRecord[]
  calls: JsonRecord[]
  /** The part that signs the text, if it is signed. */
  signature: JsonRecord[]
  /** The last candidate, which has the finish reason. */
  close: (parts: JsonRecord[]) => JsonRecord
  envelope: JsonRecord
}

export function streamCandidate(candidate: StreamedCandidate, size: number | undefined): Frame[] {
  const { parts, calls, signature, close, envelope } = candidate
  const chunk = (one: JsonRecord, mark?: Frame['mark']): Frame =>
    jsonFrame(undefined, { candidates: [one], ...envelope }, mark)
  const partial = (part: JsonRecord, mark?: Frame['mark']): Frame =>
    chunk({ content: { role: 'model', parts: [part] }, index: 0 }, mark)
  const pieces = parts.flatMap(part =>
    typeof part['text'] === 'string'
      ? splitText(part['text'], size).map(text => ({ ...part, text }))
      : [part],
  )
  const isEmpty = pieces.length + calls.length === 0
  const tail = signature.length > 0 || isEmpty ? signature : [{ text: '' }]
  return [
    ...pieces.map(part => partial(part)),
    ...calls.map(part => partial(part, 'call-start')),
    chunk(close(tail), 'terminal'),
  ]
}
