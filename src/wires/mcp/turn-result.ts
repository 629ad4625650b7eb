// Folds the events of one turn into messages for an MCP client: progress while it runs, its result at its end. Also
// used for a turn that is over and is read from the log. Pure but for the progress that it passes on.
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { AgentInfo, FollowItem } from '../../engine/index.ts'
import type { Outcome } from '../../language/calls.ts'
import { joinText } from '../../language/content.ts'
import type { Event } from '../../language/events.ts'
import { ShownFold } from '../../language/show.ts'
import { encodeOutcome, failedResult } from './encode.ts'

/** `done` of `total`, or words. */
export type TurnProgress = { message?: string; done?: number; total?: number }

export class TurnResult {
  readonly #progress: (update: TurnProgress) => void
  readonly #session: string
  readonly #shown = new ShownFold()
  /** A person's message began the turn, not a call. */
  #isAsk = false
  text = ''
  /** The tool that the model called last. */
  tool = ''
  stop = 'end'
  outcome: Outcome | undefined
  isWaiting = false
  isOver = false
  lost: string | undefined
  /** When the last event happened. */
  at = 0

  constructor(session: string, progress: (update: TurnProgress) => void = () => {}) {
    this.#progress = progress
    this.#session = session
  }

  take(item: FollowItem): void {
    if (item.type === 'waiting') {
      this.isWaiting = true
      this.#progress({ message: `Waits for an answer in session ${this.#session}.` })
    } else if (item.type === 'lost') this.lost = item.error.message
    else if (item.type === 'delta') {
      const { delta } = item
      if (delta.type === 'progress') this.#progress(delta)
      else if (delta.type === 'output') this.#progress({ message: delta.text })
    } else if (item.type === 'event') this.takeEvent(item.event)
  }

  takeEvent(event: Event): void {
    this.at = event.at
    const shown = this.#shown.take(event)
    if (shown?.type === 'turn') this.#isAsk = shown.turn.ask?.direct !== true
    else if (shown?.type === 'answer') {
      this.text = joinText(shown.answer.parts)
      this.tool = shown.calls.at(-1)?.part.name ?? this.tool
    } else if (shown?.type === 'result') {
      if (shown.call?.parent === undefined) this.outcome = shown.outcome
    } else if (shown?.type === 'end') {
      this.isWaiting = false
      this.isOver = true
      this.stop = shown.end.stop
      if (shown.end.error) this.lost = shown.end.error.message
    }
  }

  /** `isAsk`: for a turn that was not followed from its beginning. */
  result(agent: AgentInfo, tool: string, isAsk = this.#isAsk): CallToolResult {
    const { lost, text, stop, outcome } = this
    if (lost !== undefined) return failedResult(lost)
    if (isAsk)
      return {
        content: [{ type: 'text', text: text === '' ? `The turn ended without an answer (${stop}).` : text }],
        structuredContent: { text, session: this.#session, stop },
        ...(stop !== 'end' && { isError: true }),
      }
    const declared = agent.tools.find(each => each.name === tool)
    return outcome ? encodeOutcome(outcome, declared) : failedResult('The call ended without a result.')
  }
}
