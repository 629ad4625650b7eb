// One run of a program: its sandbox, and its calls. While it only waits, another program may take its sandbox. Then it
// starts again in a new one and gets the same results in the same order, so that it reaches the same point. A run ends
// with a value or a failure, or is suspended when all of its open calls wait for someone. The next run starts at the
// beginning and gets the recorded results, each found by the place of the call in the program and by its input.
import { type NestedResult, Suspended, type ToolContext, type ToolOutput } from '../../engine/ports/index.ts'
import { joinText } from '../../language/content.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { loopTurn } from '../../lib/async/loop-turns.ts'
import { sha256 } from '../../lib/json/hash.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import type { CodeLimits, Delivery, ProgramCall, SandboxTool, Slice } from './messages.ts'
import { Sandbox } from './sandbox.ts'
import { lendThread } from './threads.ts'

/** Characters of a call's input from which on it has a turn of the event loop for itself. */
const largeInput = 64 * 1024

export type ProgramOptions = { code: string; tools: readonly ToolDeclaration[]; limits: CodeLimits }

export async function runProgram(options: ProgramOptions, context: ToolContext): Promise<ToolOutput> {
  const { nested, callId, owner, signal } = context
  if (!nested) throw new Error('This engine runs no programs.')
  const { code, tools, limits } = options
  const seed = Number.parseInt(sha256(callId).slice(0, 8), 16)
  const setup = { code, tools: tools.map(sandboxTool), limits, now: nested.since, seed }
  const run = new ProgramRun(owner, () => Sandbox.open(setup, owner, signal), nested)
  const stop = (): void => run.stop()
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await run.finish()
  } finally {
    signal.removeEventListener('abort', stop)
    run.stop()
  }
}

class ProgramRun {
  readonly #owner: string
  readonly #open: () => Promise<Sandbox>
  #sandbox: Sandbox | undefined
  #isStopped = false
  /** The results that the program was given, one list per step. A new sandbox replays them. */
  readonly #given: Delivery[][] = []
  #calls = 0
  readonly #nested: NonNullable<ToolContext['nested']>
  readonly #made = new Map<string, number>()
  readonly #logs: string[] = []
  readonly #notes: string[] = []
  /** How many calls have no result, and results that the program was not given yet. */
  #unsettled = 0
  #ready: Delivery[] = []
  #wake: (() => void) | undefined

  constructor(owner: string, open: () => Promise<Sandbox>, nested: NonNullable<ToolContext['nested']>) {
    this.#owner = owner
    this.#open = open
    this.#nested = nested
    nested.onWaiting(() => this.#wake?.())
  }

  async finish(): Promise<ToolOutput> {
    for (;;) {
      const slice = await this.#step(this.#ready.splice(0))
      this.#logs.push(...slice.logs)
      if (slice.end && !slice.end.ok) return this.#output(slice.end)
      this.#calls += slice.calls.length
      for (const call of slice.calls) {
        this.#make(call)
        // Recording and checking a large call blocks the event loop for a while.
        if (call.text.length > largeInput) await loopTurn()
      }
      if (slice.end) {
        this.#giveBack()
        // Calls that it did not wait for were made all the same: how they end must be known.
        await this.#until(() => this.#unsettled === 0)
        return this.#output(slice.end)
      }
      if (this.#unsettled === 0 && this.#ready.length === 0)
        return this.#output({
          ok: false,
          message: 'The program waits for something that never happens. It can wait for calls of tools only.',
        })
      await this.#until(() => this.#ready.length > 0)
    }
  }

  /** Ends the sandbox at once, also while the program computes. */
  stop(): void {
    this.#isStopped = true
    this.#sandbox?.close()
    this.#wake?.()
  }

  /** Goes on with these results, as far as the program can. */
  async #step(results: Delivery[]): Promise<Slice> {
    this.#given.push(results)
    if (this.#sandbox) return this.#sandbox.step(results)
    const sandbox = await this.#open()
    this.#sandbox = sandbox
    if (this.#isStopped) sandbox.close()
    let calls = 0
    for (const before of this.#given.slice(0, -1)) {
      const slice = await sandbox.step(before)
      if (slice.end && !slice.end.ok) return slice
      calls += slice.calls.length
    }
    if (calls === this.#calls) return sandbox.step(results)
    return failure('The program did not do the same when it was run again.')
  }

  #giveBack(): void {
    this.#sandbox?.close()
    this.#sandbox = undefined
  }

  #make(call: ProgramCall): void {
    this.#unsettled += 1
    const { name, text } = call
    this.#nested
      .call(this.#callKey(call), name, text)
      .then(result => this.#settled(call, result))
      .catch((error: unknown) =>
        this.#deliver({ id: call.id, ok: false, text: refused(call, errorMessage(error)) }),
      )
  }

  /** The place of the call in the program, its input, and how often both were the same before. */
  #callKey({ site, name, text }: ProgramCall): string {
    const place = `${site} ${name} ${sha256(text).slice(0, 16)}`
    const times = (this.#made.get(place) ?? 0) + 1
    this.#made.set(place, times)
    return `${place} ${times}`
  }

  #settled(call: ProgramCall, { outcome, edited }: NestedResult): void {
    if (edited !== undefined)
      this.#notes.push(
        `The arguments of a call of ${call.name} were changed before it was approved: ${edited}`,
      )
    if (outcome.kind !== 'ok') {
      const text = JSON.stringify({
        message: joinText(outcome.parts),
        tool: call.name,
        outcome: outcome.kind,
      })
      this.#deliver({ id: call.id, ok: false, text })
      return
    }
    const { structured, parts } = outcome
    const value = structured === undefined ? parts.map(shownPart).join('\n') : structured
    this.#deliver({ id: call.id, ok: true, text: JSON.stringify(value) })
  }

  #deliver(delivery: Delivery): void {
    this.#unsettled -= 1
    this.#ready.push(delivery)
    this.#wake?.()
  }

  /** Waits for a result. Throws when all open calls wait for someone. Another program may take the thread meanwhile. */
  async #until(isDone: () => boolean): Promise<void> {
    if (isDone()) return
    const takeBack = this.#sandbox ? lendThread(this.#owner, () => this.#giveBack()) : () => {}
    try {
      while (!isDone() && !this.#isStopped) {
        if (this.#nested.isWaiting) throw new Suspended()
        await new Promise<void>(resolve => {
          this.#wake = resolve
        })
        this.#wake = undefined
      }
    } finally {
      takeBack()
    }
  }

  #output(end: NonNullable<Slice['end']>): ToolOutput {
    const lines = [...this.#notes]
    if (this.#logs.length > 0) lines.push(`Logged:\n${this.#logs.join('\n')}\n`)
    if (end.ok) lines.push(end.text === '' ? 'The program returned nothing.' : plainText(end.text))
    else lines.push(end.line === undefined ? end.message : `${end.message} (line ${end.line} of the program)`)
    const parts = [{ type: 'text' as const, text: lines.join('\n') }]
    return end.ok ? { parts } : { parts, failed: true }
  }
}

function failure(message: string): Slice {
  return { calls: [], logs: [], end: { ok: false, message } }
}

function refused({ name }: ProgramCall, message: string): string {
  return JSON.stringify({ message, tool: name, outcome: 'denied' })
}

/** A text as it is, any other value as JSON. */
function plainText(json: string): string {
  const value: unknown = JSON.parse(json)
  return typeof value === 'string' ? value : json
}

function shownPart(part: NestedResult['outcome']['parts'][number]): string {
  return part.type === 'text' ? part.text : `[${part.type}]`
}

function sandboxTool({ name, description, input, output }: ToolDeclaration): SandboxTool {
  const schemas = { ...(input.form === 'json' && { input: input.schema }), ...(output && { output }) }
  return { name, description, form: input.form, schemas }
}
