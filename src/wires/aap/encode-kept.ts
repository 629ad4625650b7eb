// The result of a kept output as a `tool` message, made piece by piece: it may be larger than memory.
import type { Engine, SessionRef } from '../../engine/index.ts'
import type { KeptOutput } from '../../language/calls.ts'

const pieceBytes = 256 * 1024

/** The memory for making it: a piece, its text and its JSON. */
export const keptHeld = { bytes: 4 * pieceBytes }

export async function* keptResult(
  engine: Pick<Engine, 'blob'>,
  ref: SessionRef,
  toolCallId: string,
  { blob, bytes: size }: KeptOutput,
): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  yield `{"role":"tool","toolCallId":${JSON.stringify(toolCallId)},"content":"`
  for (let at = 0; at < size; ) {
    const { bytes } = await engine.blob(ref, { get: 'bytes', name: blob, from: at, length: pieceBytes })
    if (bytes.length === 0) break
    at += bytes.length
    yield JSON.stringify(decoder.decode(bytes, { stream: at < size })).slice(1, -1)
  }
  yield '"}'
}
