// Manual control of a session: the loop does nothing until the session is released, and the program does one action at a
// time. The log records who it was.
import type { Command, Engine, ModelAnswer, NextAction, SessionRef, ToolOutput } from '../engine/index.ts'
import type { Json } from '../lib/json/index.ts'

export class ControlHandle {
  readonly by: string
  readonly #engine: Engine
  readonly #ref: SessionRef

  private constructor(engine: Engine, ref: SessionRef, by: string) {
    this.#engine = engine
    this.#ref = ref
    this.by = by
  }

  /** `force` takes the session from someone else who controls it. */
  static async take(engine: Engine, ref: SessionRef, by: string, force: boolean): Promise<ControlHandle> {
    await engine.command(ref, { do: 'take-control', by, force })
    return new ControlHandle(engine, ref, by)
  }

  /** The action that `perform` would do. */
  async next(): Promise<NextAction> {
    return (await this.#engine.summary(this.#ref)).next
  }

  /** Does the next action as the loop would, and waits for the calls that it started. Gives what it did. */
  async perform(): Promise<NextAction> {
    const action = await this.next()
    await this.#command({ do: 'perform', by: this.by })
    return action
  }

  /** Answers in place of the model. */
  answerModel(answer: ModelAnswer): Promise<void> {
    return this.#command({ do: 'answer-model', by: this.by, answer })
  }

  /** Gives a call its result without running it. */
  answerCall(callId: string, output: string | ToolOutput): Promise<void> {
    const given: ToolOutput =
      typeof output === 'string' ? { parts: [{ type: 'text', text: output }] } : output
    return this.#command({ do: 'answer-call', by: this.by, callId, output: given })
  }

  /** Replaces the model's arguments of a call that was not judged yet. */
  replaceArguments(callId: string, input: Json): Promise<void> {
    const text = typeof input === 'string' ? input : JSON.stringify(input)
    return this.#command({ do: 'replace-arguments', by: this.by, callId, text })
  }

  /** The loop goes on from here. */
  release(): Promise<void> {
    return this.#command({ do: 'release-control', by: this.by })
  }

  async #command(command: Command): Promise<void> {
    await this.#engine.command(this.#ref, command)
  }
}
