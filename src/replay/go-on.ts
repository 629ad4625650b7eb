// After a replayed session went another way: what would happen then. Models are asked; recorded messages are said in their order;
// recorded decisions and results answer the same calls. Other calls are simulated, or get a text that says that no tool ran.
import type { ToolOutput } from '../engine/index.ts'
import type { CallPart } from '../language/calls.ts'
import { wordsOf } from '../language/errors.ts'
import type { Event } from '../language/events.ts'
import { untilAborted } from '../lib/async/abort.ts'
import { present } from '../lib/json/present.ts'
import { toOutput } from '../tools/functions/return-value.ts'
import { callKey } from './compare.ts'
import type { RecordedCall } from './recording.ts'
import type { Replay } from './replay.ts'
import type { HeldCall } from './stage.ts'

type TurnStarted = Extract<Event, { type: 'turn.started' }>

/** Without live models nobody says what comes next, and the replay ends here. */
export async function goOn(replay: Replay): Promise<void> {
  if (!replay.options.live) return
  const rest = new Rest(replay)
  const { signal } = replay.options
  while (await (signal ? untilAborted(rest.step(), signal) : rest.step()));
}

class Rest {
  readonly #replay: Replay
  readonly #messages: TurnStarted[]
  readonly #known: ReadonlyMap<string, RecordedCall>

  constructor(replay: Replay) {
    this.#replay = replay
    const { events, calls } = replay.recording
    this.#messages = events
      .slice(replay.seq)
      .filter(event => event.type === 'turn.started')
      .filter(({ parts, ask }) => parts.length > 0 && !ask?.direct)
    this.#known = new Map([...calls.values()].map(call => [callKey({ ...call.part, text: call.text }), call]))
  }

  /** One thing that a model, a tool or a person does. False: there is nothing left to do. */
  async step(): Promise<boolean> {
    const replay = this.#replay
    await replay.rest()
    const { request, calls } = replay.stage
    const { state } = replay.session
    if (request) await request.askModel()
    else if (calls.size > 0) for (const call of [...calls.values()]) this.#finish(call)
    else if (state.turn) return this.#answerPeople()
    else return this.#sayNext()
    return true
  }

  #finish(held: HeldCall): void {
    const part = this.#part(held.callId)
    const known = part && this.#known.get(callKey(part))
    if (known?.outcome) this.#replay.outcomes.set(held.callId, known.outcome)
    held.finish(simulate(held, this.#replay.options.simulate))
  }

  #part(callId: string): CallPart | undefined {
    return this.#replay.session.state.batch.find(({ part }) => part.id === callId)?.part
  }

  /** False: it waits for something that a replay cannot give. */
  async #answerPeople(): Promise<boolean> {
    const replay = this.#replay
    const waiting = replay.session.state.batch.find(({ stage }) => stage === 'asking' || stage === 'handed')
    if (waiting?.stage === 'asking') {
      const decision = this.#known.get(callKey(waiting.part))?.decision
      await replay.decide(waiting.part.id, decision)
      return true
    }
    if (waiting) {
      const outcome = this.#known.get(callKey(waiting.part))?.outcome
      if (outcome) replay.outcomes.set(waiting.part.id, outcome)
      const results = [{ callId: waiting.part.id, parts: notRun(waiting.part.name).parts }]
      await replay.command({ do: 'respond', results, decisions: [] })
      return true
    }
    const open = replay.session.state.batch
      .flatMap(({ questions = [] }) => questions)
      .find(({ closed }) => closed === undefined)
    if (!open) return false
    const answers = [{ question: open.id, action: 'decline' as const, by: 'replay' }]
    await replay.command({ do: 'respond', results: [], decisions: [], answers })
    return true
  }

  async #sayNext(): Promise<boolean> {
    const message = this.#messages.shift()
    if (!message) return false
    const { parts, wire, ask } = message
    await this.#replay.command({ do: 'say', parts, wire, ...present({ ask }) })
    return true
  }
}

function simulate({ tool, input }: HeldCall, simulations: Replay['options']['simulate'] = {}): ToolOutput {
  const simulation = Object.hasOwn(simulations, tool.name) ? simulations[tool.name] : undefined
  if (!simulation) return notRun(tool.name)
  try {
    return toOutput(simulation(input), tool.name, tool.output !== undefined)
  } catch (error) {
    return { parts: [{ type: 'text', text: wordsOf(error) }], failed: true }
  }
}

function notRun(name: string): ToolOutput {
  return { parts: [{ type: 'text', text: `${name} was not run: this is a replay.` }] }
}
