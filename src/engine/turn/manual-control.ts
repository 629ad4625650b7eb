// Manual control of a session: someone does one action of the loop at a time, does something else in its place, or answers
// it. The log records who it was. The loop goes on by itself once the session is released.

import type { Outcome } from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { ControlCommand } from '../ports/boundary.ts'
import type { ModelAnswer, ToolOutput } from '../ports/index.ts'
import { decideReleaseControl, decideTakeControl } from '../rules/decide.ts'
import { decideEdit, decideFinished } from '../rules/decide-call.ts'
import { decideAnswer } from '../rules/decide-turn.ts'
import type { Action } from '../rules/next.ts'
import { type CallState, findCall } from '../rules/state.ts'
import type { CommandedSession } from './turn-session.ts'

export class ManualControl {
  readonly session: CommandedSession
  readonly by: string

  constructor(session: CommandedSession, by: string) {
    this.session = session
    this.by = by
  }

  static async run(session: CommandedSession, command: ControlCommand): Promise<void> {
    if (command.do === 'take-control') {
      await ManualControl.take(session, command.by, command.force)
      return
    }
    const control = new ManualControl(session, command.by)
    switch (command.do) {
      case 'perform':
        await control.perform()
        break
      case 'answer-model':
        await control.answerModel(command.answer)
        break
      case 'answer-call':
        await control.answerCall(command.callId, command.output)
        break
      case 'replace-arguments':
        await control.replaceArguments(command.callId, command.text)
        break
      case 'release-control':
        await control.release()
        break
    }
  }

  /** Waits until what is under way has finished. From then on nothing happens but through this control. */
  static async take(session: CommandedSession, by: string, force = false): Promise<ManualControl> {
    await session.save(decideTakeControl(session.state, by, force, session.context))
    await session.driver.settle()
    return new ManualControl(session, by)
  }

  look(): Action {
    return this.session.next()
  }

  /** Does the next action as the loop would, and waits for the calls that it started. */
  async perform(): Promise<Action> {
    this.#mustHold()
    const action = this.look()
    await this.session.driver.performAlone(action)
    await this.session.flushed()
    return action
  }

  /** Answers in place of the model. */
  async answerModel(answer: ModelAnswer): Promise<void> {
    this.#mustBeFree()
    if (this.look().do !== 'ask-model')
      throw new TurnwireError('bad_request', 'The model is not to be asked now.')
    await this.session.save([decideAnswer(answer, `person:${this.by}`, [], this.session.context)])
  }

  /** Gives a call its result without running it. */
  async answerCall(callId: string, output: ToolOutput): Promise<void> {
    const call = this.#unsettled(callId)
    const { outcome, blob } = await this.session.agent.gate.finish(
      output,
      { name: call.part.name, outputLimit: Number.MAX_SAFE_INTEGER },
      callId,
      this.session.state.owner,
    )
    if (blob) await this.session.keepBlob(blob)
    this.#unsettled(callId)
    const answered: Outcome = { ...outcome, from: { source: 'person', by: this.by } }
    await this.session.save(decideFinished(call, answered, this.session.context))
  }

  /** Replaces the model's arguments. The new ones pass the same gate when the call is judged. */
  async replaceArguments(callId: string, text: string): Promise<void> {
    const call = this.#unsettled(callId)
    const offered = this.session.offer.byName.get(call.part.name)
    const { name, form } = call.part
    const { gate } = this.session.agent
    const admission =
      offered && (await gate.admit({ name, form, text }, offered.tool, this.session.state.owner))
    if (!admission?.ok)
      throw new TurnwireError('invalid_edit', admission?.reason ?? `There is no tool named "${name}".`)
    this.#unsettled(callId)
    const edit = { callId, text, argsHash: admission.argsHash, by: this.by }
    await this.session.save([decideEdit(this.session.state, edit, this.session.context)])
  }

  /** The loop goes on from here. */
  async release(): Promise<void> {
    this.#mustBeFree()
    await this.session.save(decideReleaseControl(this.by, this.session.context))
    this.session.driver.wake()
  }

  #unsettled(callId: string): CallState {
    this.#mustHold()
    const call = findCall(this.session.state, callId)
    if (!call || call.stage === 'settled')
      throw new TurnwireError('unknown_call', `There is no open call "${callId}" in this session.`)
    return call
  }

  #mustBeFree(): void {
    this.#mustHold()
    if (this.session.driver.performing)
      throw new TurnwireError('busy', 'An action is being performed. Wait for it.')
  }

  #mustHold(): void {
    if (this.session.lost)
      throw new TurnwireError(
        'lease_lost',
        'This session was lost or opened elsewhere: take control again first.',
      )
    if (this.session.state.controlledBy !== this.by)
      throw new TurnwireError('controlled', 'The session was released: take control again first.')
  }
}
