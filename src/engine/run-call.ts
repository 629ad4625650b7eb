// Runs one call whose intent is durable, and records how it ended. Whatever the tool does (throw, hang, return
// nonsense, return too late), exactly one outcome comes of it.

import type { Outcome } from '../language/calls.ts'
import { wordsOf } from '../language/errors.ts'
import { toolHash } from '../language/tools.ts'
import type { Abort } from '../lib/abort.ts'
import type { Json } from '../lib/json.ts'
import { settled } from './decide.ts'
import { admit } from './judge.ts'
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

/** Gives a promise only if there is something to wait for. */
export function runCall(session: Session, call: CallState, stop: Abort): Promise<void> | undefined {
  const offered = session.offer.byName.get(call.part.name)
  // Settings may change while the intent is on its way to the store.
  if (offered?.side !== 'server' || toolHash(offered.tool) !== call.toolHash)
    return settle(session, call, { outcome: notRun(call, 'the tool was changed or taken away.') }, 0)
  const { tool } = offered
  const admission = admit(session, call, offered)
  if (!admission.ok) return settle(session, call, { outcome: notRun(call, admission.reason) }, 0)
  const startedAt = session.ports.world.now()
  const attempt = attemptCall(session, call, tool, admission.input, stop)
  return attempt instanceof Promise || attempt.retry
    ? untilSettled(session, call, tool, admission.input, stop, attempt, startedAt)
    : settle(session, call, attempt, session.ports.world.now() - startedAt)
}

async function untilSettled(
  session: Session,
  call: CallState,
  tool: Tool,
  input: Json,
  stop: Abort,
  first: Attempt | Promise<Attempt>,
  startedAt: number,
): Promise<void> {
  for (let attempt = await first; ; attempt = await attemptCall(session, call, tool, input, stop)) {
    const again = attempt.retry && call.attempt <= tool.retries && !stop.aborted && call.stage === 'started'
    if (!again) return settle(session, call, attempt, session.ports.world.now() - startedAt)
    await session.save([
      {
        v: 1,
        at: session.ports.world.now(),
        type: 'call.started',
        callId: call.part.id,
        attempt: call.attempt + 1,
        key: call.key ?? '',
      },
    ])
    if (session.lost || stop.aborted || call.stage !== 'started') return undefined
  }
}

/** Of this attempt. One before it, in a process that is gone, may have run all the same. */
function notRun(call: CallState, reason: string): Outcome {
  return call.attempt > 1 ? outcomes.unknown() : outcomes.invalid(reason)
}

type Attempt = Finished & { retry?: true }

function attemptCall(
  session: Session,
  call: CallState,
  tool: Tool,
  input: Json,
  stop: Abort,
): Attempt | Promise<Attempt> {
  const context = new CallContext(session, call, stop)
  const failed = (error: unknown): Attempt => {
    context.showRest()
    return failure(session, call, tool, error)
  }
  const ended = (output: ToolOutput | 'timeout'): Attempt => {
    try {
      session.ports.world.crashPoint('call-ran')
      context.showRest()
      return output === 'timeout'
        ? { outcome: outcomes.timeout(tool.timeoutMs) }
        : session.agent.gate.finish(output, tool, call.part.id)
    } catch (error) {
      return failed(error)
    }
  }
  let running: ReturnType<Tool['run']>
  try {
    running = tool.run(input, context)
  } catch (error) {
    return failed(error)
  }
  return running instanceof Promise
    ? withinTime(session, tool, running, stop).then(ended, failed)
    : ended(running)
}

function failure(session: Session, call: CallState, tool: Tool, error: unknown): Attempt {
  const refused = error instanceof InvalidInput
  // Only the first attempt can say that nothing has happened.
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

/** Ends when the tool does, or at its deadline: then its signal is aborted and it is no longer waited for. */
function withinTime(
  session: Session,
  tool: Tool,
  running: Promise<ToolOutput>,
  stop: Abort,
): Promise<ToolOutput | 'timeout'> {
  return new Promise((resolve, reject) => {
    const stopClock = session.ports.world.timer(tool.timeoutMs, () => {
      resolve('timeout')
      stop.abort(new Error(`The tool did not finish within ${tool.timeoutMs} ms.`))
    })
    // A tool that ignores its signal must not keep a clock running for it.
    const forget = stop.onAbort(stopClock)
    const close = (): void => {
      forget()
      stopClock()
    }
    running.then(
      output => {
        close()
        resolve(output)
      },
      error => {
        close()
        reject(error)
      },
    )
  })
}

/** A class, for its getters: what a tool does not look at is not made. */
class CallContext implements ToolContext {
  readonly session: string
  readonly owner: string
  readonly callId: string
  readonly idempotencyKey: string
  readonly attempt: number
  readonly #session: Session
  readonly #call: CallState
  readonly #stop: Abort
  /** Made with the first piece of output; `null`: it is shown as it comes. */
  #live: Live | null | undefined

  constructor(session: Session, call: CallState, stop: Abort) {
    this.#session = session
    this.#call = call
    this.#stop = stop
    this.session = session.id
    this.owner = session.state.owner
    this.callId = call.part.id
    this.idempotencyKey = call.key ?? ''
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

  /** No more will come: what was held back is shown. */
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

function settle(
  session: Session,
  call: CallState,
  { outcome, blob }: Finished,
  ms: number,
): Promise<void> | undefined {
  const timed: Outcome = ms > 0 ? { ...outcome, ms } : outcome
  if (!blob) {
    recordOutcome(session, call, timed)
    return undefined
  }
  return session.ports.store.putBlob(session.id, blob.name, blob.body).then(
    () => recordOutcome(session, call, timed),
    error => session.lose(error),
  )
}

function recordOutcome(session: Session, call: CallState, outcome: Outcome): void {
  if (session.lost) return
  session.ports.world.crashPoint('outcome-decided')
  session.record([
    call.stage === 'settled'
      ? { v: 1, at: session.ports.world.now(), type: 'call.late', callId: call.part.id, outcome }
      : settled(call, outcome, session.context),
  ])
}
