// The messages between the host and the sandbox's thread: plain data. The host sends the program first, then results.
// The thread answers results when the program can do no more for now. A large message is sent in pieces, because a
// message is written and read in one turn of the host's event loop, which blocks everything else.

export type CodeLimits = {
  /** Mebibytes of the whole sandbox; the engine itself takes about 17. */
  memoryMiB: number
  /** Milliseconds that the program computes. Waiting for its calls does not count. */
  timeMs: number
  /** Characters of what it returns, and of what it logs. */
  outputChars: number
  /** Calls that one program may make. */
  calls: number
}

/** A tool as the sandbox knows it. `signature` is made when it is asked for, from `schemas`. */
export type SandboxTool = {
  name: string
  form: 'json' | 'text'
  description: string
  schemas: { input?: unknown; output?: unknown }
}

export type SandboxSetup = {
  code: string
  tools: SandboxTool[]
  limits: CodeLimits
  /** The same in every run of the program. */
  now: number
  seed: number
}

/** The result of a call of the program. `text`: JSON. */
export type Delivery = { id: number; ok: boolean; text: string }

export type ProgramCall = { id: number; name: string; text: string; site: string }

/** The program's work until it could do no more for now. Without `end` it waits. */
export type Slice = {
  calls: ProgramCall[]
  end?: { ok: true; text: string } | { ok: false; message: string; line?: number }
  logs: string[]
}

/** A message of the host after the program. `isPart`: more results follow. `more`: send the next piece of a slice. */
export type HostMessage = { results: Delivery[]; isPart?: true } | { more: true }

/** A slice, or a piece of one: the next comes when it is asked for. */
export type SlicePiece = Slice & { isPart?: true }

/** Characters of one message. One call or result alone may have more. */
const pieceChars = 256 * 1024

/** The same, in lists that each fit into a message. There is at least one. */
export function pieces<Item extends { text: string }>(items: readonly Item[]): Item[][] {
  let piece: Item[] = []
  let chars = 0
  const all = [piece]
  for (const item of items) {
    if (piece.length > 0 && chars + item.text.length > pieceChars) {
      piece = []
      chars = 0
      all.push(piece)
    }
    piece.push(item)
    chars += item.text.length
  }
  return all
}

export function computedTooLong(timeMs: number): string {
  return `The program computed for more than ${timeMs} ms and was stopped.`
}
