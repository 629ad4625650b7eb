// Runs one call whose start is durable, and records how it ended. Whatever the tool does (throws, hangs, returns nonsense
// or returns too late), the call gets exactly one outcome.

import type { Outcome } from '../language/calls.ts'
import { wordsOf } from '../language/errors.ts'
import { toolHash } from '../language/tools.ts'
import type { Abort } from '../lib/abort.ts'
import type { Json } from '../lib/json.ts'
import { decideResult, decideStart } from './decide-call.ts'
import { admit } from './judge.ts'
import type { Offered } from './offer.ts'
import { outcomes } from './outcomes.ts'
import {
  type Finished,
  InvalidInput,
  type Live,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from './ports.ts'
import type { Session } from './session.ts'
import type { CallState } from './state.ts'

/** `over` is called once, when nothing more will come of the call; synchronously if there is nothing to wait for. */
export function runCall(
  session: Session,
  call: CallState,
  offered: Offered | undefined,
  stop: Abort,
  over: () => void,
): void {
  try {
    // Settings may have changed while the start was being written.
    if (offered?.side !== 'server' || toolHash(offered.tool) !== call.toolHash) {
      recordOutcome(session, call, notRun(call, 'the tool was changed or taken away.'))
      over()
      return
    }
    const admission = admit(session, call, offered)
    if (admission.ok) new CallRun(session, call, offered.tool, admission.input, stop, over).attempt()
    else {
      recordOutcome(session, call, notRun(call, admission.reason))
      over()
    }
  } catch (error) {
    session.lose(error)
    over()
  }
}

/** This attempt did not run. An attempt before it, in a process that is gone, may have. */
function notRun(call: CallState, reason: string): Outcome {
  return call.attempt > 1 ? outcomes.unknown() : outcomes.invalid(reason)
}

type Attempt = Finished & { retry?: true }

/** One call from its first attempt to its outcome. It uses callbacks: hundreds of calls may end at the same time. */
class CallRun {
  readonly #session: Session
  readonly #call: CallState
  readonly #tool: Tool
  readonly #input: Json
  readonly #stop: Abort
  readonly #over: () => void
  readonly #startedAt: number
  #isOver = false
  /** Set while the tool is waited for: ends that. */
  #stopWaiting: (() => void) | undefined

  constructor(session: Session, call: CallState, tool: Tool, input: Json, stop: Abort, over: () => void) {
    this.#session = session
    this.#call = call
    this.#tool = tool
    this.#input = input
    this.#stop = stop
    this.#over = over
    this.#startedAt = session.ports.world.now()
  }

  attempt(): void {
    const context = new CallContext(this.#session, this.#call, this.#stop)
    let running: ReturnType<Tool['run']>
    try {
      running = this.#tool.run(this.#input, context)
    } catch (error) {
      this.#failed(context, error)
      return
    }
    if (running instanceof Promise) this.#wait(context, running)
    else this.#ended(context, running)
  }

  /** Waits until the tool ends or its deadline passes. After the deadline its signal is aborted. */
  #wait(context: CallContext, running: Promise<ToolOutput>): void {
    const { timeoutMs } = this.#tool
    const stopClock = this.#session.ports.world.timer(timeoutMs, () => {
      if (!this.#returned()) return
      this.#stop.abort(new Error(`The tool did not finish within ${timeoutMs} ms.`))
      this.#ended(context, 'timeout')
    })
    this.#stopWaiting = stopClock
    // A tool that ignores its signal must not keep the timer alive.
    this.#stop.onAbort(stopClock)
    running.then(
      output => {
        // After its deadline the output is still recorded, as late.
        this.#returned()
        this.#ended(context, output)
      },
      error => {
        if (this.#returned()) this.#failed(context, error)
      },
    )
  }

  /** False: the tool is no longer waited for. */
  #returned(): boolean {
    if (!this.#stopWaiting) return false
    this.#stopWaiting()
    this.#stopWaiting = undefined
    return true
  }

  #ended(context: CallContext, output: ToolOutput | 'timeout'): void {
    let attempt: Attempt
    try {
      this.#session.ports.world.crashPoint('call-ran')
      context.showRest()
      attempt =
        output === 'timeout'
          ? { outcome: outcomes.timeout(this.#tool.timeoutMs) }
          : this.#session.agent.gate.finish(output, this.#tool, this.#call.part.id)
    } catch (error) {
      this.#failed(context, error)
      return
    }
    this.#settle(attempt)
  }

  #failed(context: CallContext, thrown: unknown): void {
    try {
      context.showRest()
      const attempt = failure(this.#session, this.#call, this.#tool, thrown)
      if (attempt.retry && this.#mayRetry()) this.#retry()
      else this.#settle(attempt)
    } catch (error) {
      this.#lose(error)
    }
  }

  #mayRetry(): boolean {
    const { attempt, stage } = this.#call
    return attempt <= this.#tool.retries && !this.#stop.aborted && stage === 'started'
  }

  #retry(): void {
    this.#session.save([decideStart(this.#call, this.#session.context)]).then(
      () => {
        if (this.#session.lost || this.#stop.aborted || this.#call.stage !== 'started') this.#finish()
        else this.attempt()
      },
      error => this.#lose(error),
    )
  }

  #settle({ outcome, blob }: Attempt): void {
    const ms = this.#session.ports.world.now() - this.#startedAt
    if (ms > 0) outcome.ms = ms
    if (!blob) this.#record(outcome)
    else
      this.#keep(blob).then(
        () => this.#record(outcome),
        error => this.#lose(error),
      )
  }

  async #keep({ name, body }: NonNullable<Attempt['blob']>): Promise<void> {
    await this.#session.ports.store.putBlob(this.#session.id, name, body)
  }

  #record(outcome: Outcome): void {
    try {
      recordOutcome(this.#session, this.#call, outcome)
    } catch (error) {
      this.#session.lose(error)
    }
    this.#finish()
  }

  #lose(error: unknown): void {
    this.#session.lose(error)
    this.#finish()
  }

  #finish(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#over()
  }
}

function failure(session: Session, call: CallState, tool: Tool, error: unknown): Attempt {
  const refused = error instanceof InvalidInput
  // After an earlier attempt nobody can say that nothing has happened.
  const untouched = refused && call.attempt === 1
  const words = untouched ? 'The tool was not run' : 'The tool failed'
  const { outcome, blob } = session.agent.gate.finish(
    { parts: [{ type: 'text', text: `${words}: ${wordsOf(error)}` }], failed: true },
    { name: tool.name, outputLimit: tool.outputLimit },
    call.part.id,
  )
  return {
    outcome: untouched ? { ...outcome, kind: 'invalid', from: { source: 'runtime' } } : outcome,
    ...(blob && { blob }),
    ...(!refused && (tool.readOnly || tool.idempotent) && { retry: true }),
  }
}

/** A class for its getters: a signal or options that a tool does not read are not made. */
class CallContext implements ToolContext {
  readonly session: string
  readonly owner: string
  readonly callId: string
  readonly idempotencyKey: string
  readonly attempt: number
  readonly #session: Session
  readonly #call: CallState
  readonly #stop: Abort
  /** Made with the first piece of output; `null`: output is not redacted. */
  #live: Live | null | undefined

  constructor(session: Session, call: CallState, stop: Abort) {
    this.#session = session
    this.#call = call
    this.#stop = stop
    this.session = session.id
    this.owner = session.state.owner
    this.callId = call.part.id
    this.idempotencyKey = call.part.id
    this.attempt = call.attempt
  }

  get progress(): ToolContext['progress'] {
    return update => {
      const { callId } = this
      const { feed, lost } = this.#session
      if (lost || this.#call.stage !== 'started') return
      if ('output' in update) this.#show(this.#redacted(update.output))
      else feed.delta({ type: 'progress', callId, ...this.#redactedMessage(update) })
    }
  }

  /** No more output comes: shows what redaction held back. */
  showRest(): void {
    if (this.#live && this.#call.stage === 'started') this.#show(this.#live.rest())
  }

  #show(text: string): void {
    if (text !== '') this.#session.feed.delta({ type: 'output', callId: this.callId, text })
  }

  #redacted(piece: string): string {
    if (this.#live === undefined) this.#live = this.#session.agent.gate.live() ?? null
    return this.#live ? this.#live.take(piece) : piece
  }

  #redactedMessage<Update extends { message?: string }>(update: Update): Update {
    const live = update.message === undefined ? undefined : this.#session.agent.gate.live()
    return live ? { ...update, message: live.take(update.message ?? '') + live.rest() } : update
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get options(): Readonly<Record<string, string>> {
    return this.#session.options()
  }
}

function recordOutcome(session: Session, call: CallState, outcome: Outcome): void {
  if (session.lost) return
  session.ports.world.crashPoint('outcome-decided')
  session.record([decideResult(call, outcome, session.context)], true)
}
