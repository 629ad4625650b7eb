// Runs one call whose start is durable, and records how it ended. Whatever the tool does (throws, hangs, returns nonsense
// or returns too late), the call gets exactly one outcome.

import type { KeptOutput, Outcome } from '../../language/calls.ts'
import type { ResultPart } from '../../language/content.ts'
import { toolHash } from '../../language/tools.ts'
import type { Abort } from '../../lib/async/abort.ts'
import type { Json } from '../../lib/json/index.ts'
import { noteDiscarded } from '../log/note-discarded.ts'
import { type Admission, type Finished, Suspended, type Tool, type ToolOutput } from '../ports/index.ts'
import { countTries, decideFinished, decideStart, decideUnasked } from '../rules/decide-call.ts'
import { decideSuspended } from '../rules/nested.ts'
import type { Offered } from '../rules/offer.ts'
import { outcomes } from '../rules/outcomes.ts'
import type { CallState } from '../rules/state.ts'
import { CallContext } from './call-context.ts'
import { type Attempt, decideFailed } from './call-failure.ts'
import type { CallSession } from './call-session.ts'
import { fitImages } from './fit-images.ts'
import { askAfterCall } from './hooks.ts'
import { admit } from './judge.ts'
import { dropKept, takeStream } from './kept-output.ts'
import { NestedRun } from './nested-calls.ts'
import { decidePostponed } from './postpone.ts'
import { checkAttempt, isUnclear, readInput } from './reconcile.ts'

/** `over` is called once, when nothing more will come of the call; synchronously if there is nothing to wait for. */
export function runCall(
  session: CallSession,
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
    if (!(admission instanceof Promise)) runAdmitted(session, call, offered.tool, admission, stop, over)
    else
      admission
        .then(late => {
          if (session.lost || stop.aborted || call.stage !== 'started') over()
          else runAdmitted(session, call, offered.tool, late, stop, over)
        })
        .catch(error => {
          session.lose(error)
          over()
        })
  } catch (error) {
    session.lose(error)
    over()
  }
}

/**
 * The same for a call that may have run: nothing of it is run again. Its tool is asked what became of it, and it is settled so, or
 * with `unclear`.
 */
export function checkUnclear(
  session: CallSession,
  call: CallState,
  tool: Tool,
  stop: Abort,
  unclear: Outcome,
  over: () => void,
): void {
  readInput(session, call, tool).then(
    input => new CallRun(session, call, tool, input, stop, over).check({ outcome: unclear }),
    () => {
      try {
        if (call.stage !== 'settled') recordOutcome(session, call, unclear)
      } catch (error) {
        session.lose(error)
      }
      over()
    },
  )
}

function runAdmitted(
  session: CallSession,
  call: CallState,
  tool: Tool,
  admission: Admission,
  stop: Abort,
  over: () => void,
): void {
  if (admission.ok) new CallRun(session, call, tool, admission.input, stop, over).attempt()
  else {
    recordOutcome(session, call, notRun(call, admission.reason))
    over()
  }
}

/** This attempt did not run. An attempt before it, in a process that is gone, may have. */
function notRun(call: CallState, reason: string): Outcome {
  return call.attempt > 1 ? outcomes.unknown() : outcomes.invalid(reason)
}

/** One call from its first attempt to its outcome. It uses callbacks: hundreds of calls may end at the same time. */
class CallRun {
  readonly #session: CallSession
  readonly #call: CallState
  readonly #tool: Tool
  readonly #input: Json
  readonly #stop: Abort
  readonly #over: () => void
  readonly #startedAt: number
  #isOver = false
  #isChecked = false
  #nested: NestedRun | undefined
  #kept: KeptOutput | undefined
  /** Set while the tool is waited for: ends that. */
  #stopWaiting: (() => void) | undefined

  constructor(session: CallSession, call: CallState, tool: Tool, input: Json, stop: Abort, over: () => void) {
    this.#session = session
    this.#call = call
    this.#tool = tool
    this.#input = input
    this.#stop = stop
    this.#over = over
    this.#startedAt = session.ports.world.elapsed()
  }

  attempt(): void {
    if (this.#tool.resumable) this.#nested ??= new NestedRun(this.#session, this.#call)
    const { timeoutMs } = this.#tool
    const context = new CallContext(this.#session, this.#call, this.#stop, timeoutMs, this.#nested)
    let running: ReturnType<Tool['run']>
    try {
      const { observer } = this.#session.ports
      running = observer?.inCall
        ? observer.inCall(this.#call.part.id, () => this.#tool.run(this.#input, context))
        : this.#tool.run(this.#input, context)
    } catch (error) {
      this.#failed(context, error)
      return
    }
    if (running instanceof Promise) this.#wait(context, running)
    else if (running.stream) this.#wait(context, Promise.resolve(running))
    else this.#ended(context, running)
  }

  /** Waits until the tool ends or its deadline passes. After the deadline its signal is aborted. */
  #wait(context: CallContext, running: Promise<ToolOutput>): void {
    const { timeoutMs } = this.#tool
    const stopClock = context.clock.start(() => {
      if (!this.#returned()) return
      this.#stop.abort(new Error(`The tool did not finish within ${timeoutMs} ms.`))
      this.#ended(context, 'timeout')
    })
    this.#stopWaiting = stopClock
    // A tool that ignores its signal must not keep the timer alive.
    this.#stop.onAbort(stopClock)
    running.then(
      output => {
        if (output.stream) {
          this.#take(context, output)
          return
        }
        // After its deadline the output is still recorded, as late.
        this.#returned()
        this.#ended(context, output)
      },
      error => {
        if (this.#returned()) this.#failed(context, error)
      },
    )
  }

  /** The stream of an output belongs to the run: its deadline and its cancellation hold until the stream has ended. */
  #take(context: CallContext, output: ToolOutput): void {
    const { outputLimit } = this.#tool
    takeStream(this.#session, this.#call.part.id, output, outputLimit, this.#stop.signal).then(
      taken => {
        this.#kept = taken.kept
        this.#returned()
        this.#ended(context, taken.output)
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
    if (output !== 'timeout' && output.later) {
      this.#postpone(context, output.later.expiresInMs)
      return
    }
    try {
      const hasImages = output !== 'timeout' && output.parts.some(isImage)
      const fitting = hasImages ? fitImages(this.#session, output, context.signal) : undefined
      if (!fitting) this.#gate(context, output)
      else
        fitting.then(
          fitted => this.#gate(context, fitted),
          error => this.#failed(context, error),
        )
    } catch (error) {
      this.#failed(context, error)
    }
  }

  #gate(context: CallContext, output: ToolOutput | 'timeout'): void {
    let attempt: Attempt | Promise<Attempt>
    try {
      const { ports, agent, state } = this.#session
      ports.world.crashPoint?.('call-ran')
      context.showRest()
      attempt =
        output === 'timeout'
          ? { outcome: outcomes.timeout(this.#tool.timeoutMs) }
          : agent.gate.finish(output, this.#tool, this.#call.part.id, state.owner)
    } catch (error) {
      this.#failed(context, error)
      return
    }
    if (attempt instanceof Promise)
      attempt.then(
        late => this.#settle(context.withReport(late)),
        error => this.#failed(context, error),
      )
    else this.#settle(context.withReport(attempt))
  }

  #failed(context: CallContext, thrown: unknown): void {
    try {
      context.showRest()
      if (thrown instanceof Suspended && this.#suspend()) return
      const attempt = decideFailed(this.#session, this.#call, this.#tool, thrown)
      if (attempt instanceof Promise)
        attempt.then(
          late => this.#settleOrRetry(context.withReport(late)),
          error => this.#lose(error),
        )
      else this.#settleOrRetry(context.withReport(attempt))
    } catch (error) {
      this.#lose(error)
    }
  }

  /** It has run as far as it could. False: it has made no call that it could wait for. */
  #suspend(): boolean {
    const nested = this.#nested
    if (!nested || !(nested.hasMade || this.#session.stopping)) return false
    if (this.#call.stage === 'started' && !this.#session.lost)
      this.#session.record([decideSuspended(this.#call, nested.seen, this.#session.context)])
    this.#finish()
    return true
  }

  /** The result comes later. Nothing of the call stays in memory. */
  #postpone(context: CallContext, expiresInMs: number): void {
    this.#session.ports.world.crashPoint?.('call-ran')
    context.showRest()
    const { context: now, lost } = this.#session
    if (this.#call.stage === 'started' && !lost)
      this.#session.record([...decideUnasked(this.#call, now), decidePostponed(this.#call, expiresInMs, now)])
    this.#finish()
  }

  #settleOrRetry(attempt: Attempt): void {
    if (attempt.retry && this.#mayRetry()) this.#retryAfterWait()
    else this.#settle(attempt)
  }

  /** The turn may end while it waits: then the call is settled, and is not tried again. */
  #retryAfterWait(): void {
    const ms = waitBefore(this.#tool, countTries(this.#call))
    if (ms === 0) {
      this.#retry()
      return
    }
    const stopClock = this.#session.ports.world.timer(ms, () => {
      forget()
      this.#retry()
    })
    const forget = this.#stop.onAbort(() => {
      stopClock()
      this.#finish()
    })
  }

  #mayRetry(): boolean {
    return (
      countTries(this.#call) <= this.#tool.retries && !this.#stop.aborted && this.#call.stage === 'started'
    )
  }

  #retry(): void {
    const { context } = this.#session
    this.#session.save([...decideUnasked(this.#call, context), decideStart(this.#call, context)]).then(
      () => {
        if (this.#session.lost || this.#stop.aborted || this.#call.stage !== 'started') this.#finish()
        else this.attempt()
      },
      error => this.#lose(error),
    )
  }

  /** Asks the tool what became of the call, which may have taken effect, then settles it. */
  check(attempt: Finished): void {
    this.#isChecked = true
    checkAttempt(this.#session, this.#call, this.#tool, this.#input, attempt, this.#stop).then(
      checked => {
        // It may have returned after all, or was cancelled.
        if (this.#call.stage === 'settled' || this.#session.lost) this.#finish()
        else this.#settle(checked)
      },
      error => this.#lose(error),
    )
  }

  #isUnclear({ outcome }: Finished): boolean {
    return !this.#isChecked && this.#call.stage === 'started' && isUnclear(outcome)
  }

  /** A hook may replace the result; what it gives is checked and bounded like any other. */
  #settle(attempt: Attempt): void {
    if (this.#tool.reconcile && this.#isUnclear(attempt)) {
      this.check(attempt)
      return
    }
    if (!this.#session.ports.hooks?.afterCall || this.#call.stage !== 'started') {
      this.#conclude(attempt)
      return
    }
    this.#afterHook(attempt).then(
      finished => this.#conclude(finished),
      error => this.#lose(error),
    )
  }

  async #afterHook(attempt: Attempt): Promise<Finished> {
    const { agent, state } = this.#session
    const output = await askAfterCall(this.#session, this.#call, attempt.outcome)
    if (!output) return attempt
    if (this.#kept) await dropKept(this.#session, this.#call.part.id, this.#kept.bytes)
    this.#kept = undefined
    const { loads, report, provenance } = attempt.outcome
    const replaced = loads && !output.failed ? { loads, ...output } : output
    const finished = await agent.gate.finish(replaced, this.#tool, this.#call.part.id, state.owner)
    // The hook replaces what the model reads. The work that was done stays reported, and its sources named.
    const kept = { ...(report && { report }), ...(provenance && { provenance }) }
    return { ...finished, outcome: { ...kept, ...finished.outcome } }
  }

  #conclude({ outcome, blob }: Finished): void {
    if (this.#kept) outcome.kept = this.#kept
    const ms = Math.round(this.#session.ports.world.elapsed() - this.#startedAt)
    if (ms > 0) outcome.ms = ms
    if (!blob) this.#record(outcome)
    else
      this.#session.keepBlob(blob).then(
        () => this.#record(outcome),
        error => this.#lose(error),
      )
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
    this.#nested?.close()
    this.#over()
  }
}

function isImage({ type }: ResultPart): boolean {
  return type === 'image'
}

/** `tries`: how many were made. */
function waitBefore({ backOff }: Tool, tries: number): number {
  return backOff ? Math.min(backOff.ms * backOff.factor ** (tries - 1), backOff.mostMs) : 0
}

function recordOutcome(session: CallSession, call: CallState, outcome: Outcome): void {
  if (session.lost) {
    noteDiscarded(session, [call.part.id])
    return
  }
  session.ports.world.crashPoint?.('outcome-decided')
  session.record(decideFinished(call, outcome, session.context), true)
}
