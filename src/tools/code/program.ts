// One run of a program: its sandbox, and the calls that it makes. A run ends with a value or a failure, or is suspended when
// all that it waits for waits for someone. The next run begins at the beginning and is given the recorded results, each
// found by the place in the program that made the call and by its input.
import { type NestedResult, Suspended, type ToolContext, type ToolOutput } from '../../engine/ports.ts'
import { textOf } from '../../language/content.ts'
import type { ToolDeclaration } from '../../language/tools.ts'
import { sha256 } from '../../lib/hash.ts'
import type { CodeLimits, Delivery, ProgramCall, SandboxTool, Slice } from './messages.ts'
import { Sandbox } from './sandbox.ts'

export type ProgramOptions = { code: string; tools: readonly ToolDeclaration[]; limits: CodeLimits }

export async function runProgram(options: ProgramOptions, context: ToolContext): Promise<ToolOutput> {
  const { nested, callId, signal } = context
  if (!nested) throw new Error('This engine runs no programs.')
  const { code, tools, limits } = options
  const seed = Number.parseInt(sha256(callId).slice(0, 8), 16)
  const setup = { code, tools: tools.map(sandboxTool), limits, now: nested.since, seed }
  const sandbox = await Sandbox.open(setup, signal)
  const stop = (): void => sandbox.close()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await new ProgramRun(sandbox, nested).finish()
  } finally {
    signal.removeEventListener('abort', stop)
    sandbox.close()
  }
}

class ProgramRun {
  readonly #sandbox: Sandbox
  readonly #nested: NonNullable<ToolContext['nested']>
  readonly #made = new Map<string, number>()
  readonly #logs: string[] = []
  readonly #notes: string[] = []
  /** How many calls have no result, and results that the program was not given yet. */
  #open = 0
  #ready: Delivery[] = []
  #wake: (() => void) | undefined

  constructor(sandbox: Sandbox, nested: NonNullable<ToolContext['nested']>) {
    this.#sandbox = sandbox
    this.#nested = nested
    nested.onWaiting(() => this.#wake?.())
  }

  async finish(): Promise<ToolOutput> {
    for (;;) {
      const slice = await this.#sandbox.step(this.#ready.splice(0))
      this.#logs.push(...slice.logs)
      if (slice.end && !slice.end.ok) return this.#output(slice.end)
      for (const call of slice.calls) this.#make(call)
      if (slice.end) {
        // Calls that it did not wait for were made all the same: how they end must be known.
        await this.#until(() => this.#open === 0)
        return this.#output(slice.end)
      }
      if (this.#open === 0 && this.#ready.length === 0)
        return this.#output({
          ok: false,
          message: 'The program waits for something that never happens. It can wait for calls of tools only.',
        })
      await this.#until(() => this.#ready.length > 0)
    }
  }

  #make(call: ProgramCall): void {
    this.#open += 1
    const { name, text } = call
    this.#nested.call(this.#keyOf(call), name, text).then(
      result => this.#settled(call, result),
      error =>
        this.#deliver({ id: call.id, ok: false, text: refused(call, String(error?.message ?? error)) }),
    )
  }

  /** The place of the call in the program, its input, and how often both were the same before. */
  #keyOf({ site, name, text }: ProgramCall): string {
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
      const text = JSON.stringify({ message: textOf(outcome.parts), tool: call.name, outcome: outcome.kind })
      this.#deliver({ id: call.id, ok: false, text })
      return
    }
    const { structured, parts } = outcome
    const value = structured === undefined ? parts.map(shownPart).join('\n') : structured
    this.#deliver({ id: call.id, ok: true, text: JSON.stringify(value) })
  }

  #deliver(delivery: Delivery): void {
    this.#open -= 1
    this.#ready.push(delivery)
    this.#wake?.()
  }

  /** Throws when only others can bring a result. */
  async #until(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      if (this.#nested.isWaiting) throw new Suspended()
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
      this.#wake = undefined
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
