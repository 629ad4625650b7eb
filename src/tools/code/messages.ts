// What the host and the sandbox's thread say to each other: plain data. The host gives the program first, then results, one
// thing at a time. The thread answers results when the program can do no more for now.

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

/** What the program did until it could do no more for now. Without `end` it waits. */
export type Slice = {
  calls: ProgramCall[]
  end?: { ok: true; text: string } | { ok: false; message: string; line?: number }
  logs: string[]
}

export function computedTooLong(timeMs: number): string {
  return `The program computed for more than ${timeMs} ms and was stopped.`
}
