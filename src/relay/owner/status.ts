// The status of an attached machine, in a file beside its key: for `turnwire attach --status` and the console. It holds
// counts and reasons, never the content of a request.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { TokenUsage } from '../frames.ts'

export type Refusal = { at: string; reason: string }

export type AttachStatus = {
  server: string
  agentId: string
  /** The process that wrote this. */
  pid: number
  state: 'connecting' | 'attached' | 'waiting' | 'stopped'
  since: string
  prices: { inputTokenPrice: string; outputTokenPrice: string }
  requests: { served: number; failed: number; refused: number; inFlight: number }
  tokens: { input: number; output: number }
  /** At the prices of the time, in the asset's smallest unit. The relay's own record says what was paid. */
  earnings: string
  refusals: Refusal[]
}

/** The newest ones. */
const mostRefusals = 20
/** Counts in the file are at most this old. */
const writeEveryMs = 500

export class StatusFile {
  readonly #file: string
  readonly #status: AttachStatus
  #timer: NodeJS.Timeout | undefined

  /** Counts go on from those of the last run for the same server. */
  constructor(file: string, fresh: Pick<AttachStatus, 'server' | 'agentId' | 'prices'>) {
    this.#file = file
    const last = readStatus(file)
    const counts = last?.server === fresh.server && last.agentId === fresh.agentId ? last : emptyCounts
    this.#status = {
      ...fresh,
      pid: process.pid,
      state: 'connecting',
      since: new Date().toISOString(),
      requests: { ...counts.requests, inFlight: 0 },
      tokens: { ...counts.tokens },
      earnings: counts.earnings,
      refusals: [...counts.refusals],
    }
    this.write()
  }

  get prices(): AttachStatus['prices'] {
    return this.#status.prices
  }

  reprice(prices: AttachStatus['prices']): void {
    this.#status.prices = prices
    this.write()
  }

  now(state: AttachStatus['state']): void {
    if (this.#status.state !== state) this.#status.since = new Date().toISOString()
    this.#status.state = state
    this.write()
  }

  began(): void {
    this.#status.requests.inFlight += 1
    this.#later()
  }

  ended(): void {
    this.#status.requests.inFlight -= 1
    this.#later()
  }

  served({ input_tokens, output_tokens }: TokenUsage): void {
    const { requests, tokens, prices } = this.#status
    requests.served += 1
    tokens.input += input_tokens
    tokens.output += output_tokens
    const cost =
      BigInt(input_tokens) * BigInt(prices.inputTokenPrice) +
      BigInt(output_tokens) * BigInt(prices.outputTokenPrice)
    this.#status.earnings = String(BigInt(this.#status.earnings) + cost)
    this.#later()
  }

  failed(): void {
    this.#status.requests.failed += 1
    this.#later()
  }

  refused(reason: string): void {
    const { requests, refusals } = this.#status
    requests.refused += 1
    refusals.push({ at: new Date().toISOString(), reason: reason.slice(0, 300) })
    refusals.splice(0, refusals.length - mostRefusals)
    this.#later()
  }

  write(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      writeFileSync(`${this.#file}.new`, `${JSON.stringify(this.#status, null, 2)}\n`, { mode: 0o600 })
      renameSync(`${this.#file}.new`, this.#file)
    } catch {
      // A machine that cannot write its status still serves. The next change tries again.
    }
  }

  #later(): void {
    this.#timer ??= setTimeout(() => this.write(), writeEveryMs)
  }
}

const emptyCounts: Pick<AttachStatus, 'requests' | 'tokens' | 'earnings' | 'refusals'> = {
  requests: { served: 0, failed: 0, refused: 0, inFlight: 0 },
  tokens: { input: 0, output: 0 },
  earnings: '0',
  refusals: [],
}

/** Whether the machine that wrote it still runs. */
export function isRunning({ pid, state }: AttachStatus): boolean {
  try {
    process.kill(pid, 0)
    return state !== 'stopped'
  } catch {
    return false
  }
}

/** Undefined: there is none, or none that can be read. */
export function readStatus(file: string): AttachStatus | undefined {
  try {
    // Written by `StatusFile` and nobody else.
    return JSON.parse(readFileSync(file, 'utf8')) as AttachStatus
  } catch {
    return undefined
  }
}
