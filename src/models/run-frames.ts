// The bytes of an answer as the frames that a protocol steps through: server-sent events as they come, or a whole body as
// one frame at its end. Both are bounded, so that an endless answer cannot fill the memory.

import { createParser } from 'eventsource-parser'
import type { Frame } from './protocol.ts'

export type FrameLimits = { maxEventChars: number; maxBodyChars: number }

/** The answer is too large or cannot be read. */
export class AnswerError extends Error {
  override readonly name = 'AnswerError'
}

export type FrameReader = {
  push(chunk: Uint8Array): void
  /** No more bytes come. A server-sent event that was cut off is not given. */
  end(): void
  /** True once the stream has marked its end. */
  readonly over: boolean
  /** Set when the bytes so far are to be read even if the connection broke. */
  partial?: true
}

/** Ends a stream of the OpenAI family. Anything after it is ignored. */
const END_MARK = '[DONE]'

export function eventReader(limits: FrameLimits, give: (frame: Frame) => void): FrameReader {
  const decoder = new TextDecoder()
  let over = false
  let endsInCr = false
  let tooLarge = false
  const parser = createParser({
    maxBufferSize: limits.maxEventChars,
    onEvent: ({ event, data }) => {
      if (over) return
      if (data.length > limits.maxEventChars) tooLarge = true
      else if (data.length < 20 && data.trim() === END_MARK) over = true
      else give(event === undefined ? { data } : { event, data })
    },
    onError: error => {
      if (error.type === 'max-buffer-size-exceeded') tooLarge = true
    },
  })
  return {
    push(chunk) {
      const text = decoder.decode(chunk, { stream: true })
      parser.feed(text)
      if (tooLarge) throw new AnswerError('An event of the answer is too large.')
      if (text !== '') endsInCr = text.endsWith('\r')
    },
    end() {
      // The parser holds a last CR back because an LF could follow it. None follows now.
      if (endsInCr) parser.feed('\n')
    },
    get over() {
      return over
    },
  }
}

export function bodyReader(limits: FrameLimits, give: (text: string) => void): FrameReader {
  const decoder = new TextDecoder()
  let text = ''
  return {
    push(chunk) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length > limits.maxBodyChars) throw new AnswerError('The answer is too large.')
    },
    end() {
      give(text + decoder.decode())
    },
    over: false,
  }
}
