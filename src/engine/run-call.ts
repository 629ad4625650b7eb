// Runs one call whose start is durable, and records how it ended. Whatever the tool does (throws, hangs, returns nonsense
// or returns too late), the call gets exactly one outcome.

import type { Outcome } from '../language/calls.ts'
import type { Report } from '../language/report.ts'
import { toolHash } from '../language/tools.ts'
import type { Abort } from '../lib/abort.ts'
import type { Json } from '../lib/json.ts'
import { decideResult, decideStart } from './decide-call.ts'
import { askAfterCall, subjectOf } from './hooks.ts'
import { admit } from './judge.ts'
import type { Offered } from './offer.ts'
import { outcomes } from './outcomes.ts'
import {
  type Admission,
  type AppContext,
  type Finished,
  InvalidInput,
  type Live,
  type Progress,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from './ports.ts'
import { safeReason } from './safe-reason.ts'
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

function runAdmitted(
  session: Session,
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
    let attempt: Attempt | Promise<Attempt>
    try {
      const { ports, agent, state } = this.#session
      ports.world.crashPoint('call-ran')
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
      const attempt = failure(this.#session, this.#call, this.#tool, thrown)
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

  #settleOrRetry(attempt: Attempt): void {
    if (attempt.retry && this.#mayRetry()) this.#retry()
    else this.#settle(attempt)
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

  /** A hook may replace the result; what it gives is checked and bounded like any other. */
  #settle(attempt: Attempt): void {
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
    const finished = await agent.gate.finish(output, this.#tool, this.#call.part.id, state.owner)
    // The hook replaces what the model reads. The work that was done stays reported.
    const { report } = attempt.outcome
    return report ? { ...finished, outcome: { report, ...finished.outcome } } : finished
  }

  #conclude({ outcome, blob }: Finished): void {
    const ms = this.#session.ports.world.now() - this.#startedAt
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
    this.#over()
  }
}

function failure(session: Session, call: CallState, tool: Tool, error: unknown): Attempt | Promise<Attempt> {
  const refused = error instanceof InvalidInput
  // After an earlier attempt nobody can say that nothing has happened.
  const untouched = refused && call.attempt === 1
  const words = untouched ? 'The tool was not run' : 'The tool failed'
  session.ports.log('warn', 'A tool threw.', {
    session: session.id,
    callId: call.part.id,
    tool: tool.name,
    ...kindAndPlace(error),
  })
  const finished = session.agent.gate.finish(
    { parts: [{ type: 'text', text: `${words}: ${safeReason(error)}` }], failed: true },
    { name: tool.name, outputLimit: tool.outputLimit },
    call.part.id,
    session.state.owner,
  )
  const asFailure = ({ outcome, blob }: Finished): Attempt => ({
    outcome: untouched ? { ...outcome, kind: 'invalid', from: { source: 'runtime' } } : outcome,
    ...(blob && { blob }),
    ...(!refused && (tool.readOnly || tool.idempotent) && { retry: true }),
  })
  return finished instanceof Promise ? finished.then(asFailure) : asFailure(finished)
}

/** What was thrown and where. Not its words: they may hold arguments or secrets. */
function kindAndPlace(error: unknown): { error: string; at?: string } {
  try {
    if (!(error instanceof Error)) return { error: typeof error }
    // The message comes before the places, and may look like one.
    const at = /\n {4}at (.+)/.exec(error.stack?.slice(error.message.length) ?? '')?.[1]
    return { error: error.name, ...(at !== undefined && { at }) }
  } catch {
    return { error: 'an error that cannot be read' }
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
  /** By terminal, '' for none. Made with its first piece of output. */
  readonly #live = new Map<string, Live>()
  /** What was reported so far. */
  #report: Report | undefined

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
      if ('output' in update) this.#show(this.#redacted(update), update.terminal)
      else feed.delta({ type: 'progress', callId, ...this.#redactedMessage(update) })
    }
  }

  get fetch(): ToolContext['fetch'] {
    return (input, init = {}) => {
      const { ports } = this.#session
      const { egress } = ports
      if (!egress) return Promise.reject(new Error('This engine fetches nothing: it has no egress rule.'))
      const { session, callId } = this
      return egress.fetch(input, {
        signal: this.#stop.signal,
        ...init,
        report: report => {
          ports.log(report.refused === undefined ? 'info' : 'warn', 'A tool sent a request.', {
            session,
            callId,
            ...report,
          })
          init.report?.(report)
        },
      })
    }
  }

  get app(): AppContext {
    const given = { ...this.#session.ports.app?.(subjectOf(this.#session)), ...this.#session.requestApp }
    // Which members there are is between the program and its tools.
    return given as AppContext
  }

  get report(): ToolContext['report'] {
    return given => {
      const { feed, lost, agent } = this.#session
      if (lost || this.#call.stage !== 'started') return
      const report = agent.gate.report(given)
      this.#report = { ...this.#report, ...report }
      feed.delta({ type: 'report', callId: this.callId, report })
    }
  }

  /** What was reported while the tool ran is kept with its outcome, unless the output reported it anew. */
  withReport<Attempt extends Finished>(attempt: Attempt): Attempt {
    if (!this.#report) return attempt
    const report = { ...this.#report, ...attempt.outcome.report }
    return { ...attempt, outcome: { ...attempt.outcome, report } }
  }

  /** No more output comes: shows what redaction held back. */
  showRest(): void {
    if (this.#call.stage !== 'started') return
    for (const [terminal, live] of this.#live) this.#show(live.rest(), terminal || undefined)
  }

  #show(text: string, terminal: string | undefined): void {
    if (text === '') return
    const delta = { type: 'output', callId: this.callId, text } as const
    this.#session.feed.delta(terminal === undefined ? delta : { ...delta, terminal })
  }

  #redacted({ output, terminal = '' }: Extract<Progress, { output: string }>): string {
    let live = this.#live.get(terminal)
    if (!live) {
      live = this.#session.agent.gate.live()
      if (!live) return output
      this.#live.set(terminal, live)
    }
    return live.take(output)
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
