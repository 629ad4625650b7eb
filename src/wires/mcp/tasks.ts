// Tasks: calls that go on after their request was answered. A task is a turn of a session, so it is as durable as the
// session, lives as long as it, and belongs to its owner. Its id names the session and the turn's first event. Nothing of a
// task is kept here: what a client is told is read from the session and its log.
import {
  type CallToolResult,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  type InputRequest,
  ProtocolError,
} from '@modelcontextprotocol/server'
import type { AgentInfo, Engine, SessionSummary } from '../../engine/index.ts'
import type { Person } from '../../language/approvers.ts'
import { joinText } from '../../language/content.ts'
import { ShownFold } from '../../language/show.ts'
import { isNotFound } from '../not-found.ts'
import { readLog } from '../read-log.ts'
import { type Answers, type CanAsk, giveAnswers, openRequests } from './questions.ts'
import { McpTask, mcpWire } from './turn.ts'
import { TurnResult } from './turn-result.ts'

/** The extension's name in the revision of 2026-07-28. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'
export const pollMs = 1_000

export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

export type TaskFacts = {
  id: string
  status: TaskStatus
  message?: string
  createdAt: number
  updatedAt: number
  /** The open requests to the client. */
  requests: [string, InputRequest][]
  result?: CallToolResult
  error?: { code: number; message: string }
}

export class McpTasks {
  readonly #engine: Engine
  readonly #owner: string
  readonly #person: Person
  readonly #agent: AgentInfo

  constructor(engine: Engine, { owner, ...person }: Person & { owner: string }, agent: AgentInfo) {
    this.#engine = engine
    this.#owner = owner
    this.#person = person
    this.#agent = agent
  }

  async get(id: string, can: CanAsk): Promise<TaskFacts> {
    const { task, summary } = await this.#find(id)
    if (summary.turn?.first !== task.first) return this.#over(id, task)
    const { calls, updatedAt, turn, status } = summary
    const requests = openRequests(calls, can, this.#person, true)
    const isWaiting = status === 'waiting' && requests.length === 0
    return {
      id,
      status: requests.length > 0 ? 'input_required' : 'working',
      ...(isWaiting && { message: `Waits for an answer in session ${summary.id}.` }),
      createdAt: turn.startedAt,
      updatedAt,
      requests,
    }
  }

  /** Answers that belong to nothing open are ignored. */
  async update(id: string, answers: Answers): Promise<void> {
    const { task, summary } = await this.#find(id)
    if (summary.turn?.first !== task.first) return
    await giveAnswers(this.#engine, task.ref, { answers, by: this.#person.name, unique: true })
  }

  /** False: it was over. */
  async cancel(id: string): Promise<boolean> {
    const { task, summary } = await this.#find(id)
    if (summary.turn?.first !== task.first) return false
    await this.#engine.command(task.ref, { do: 'cancel', turn: summary.turn.id })
    return true
  }

  /** Resolves when the task is over, or waits for something that this client can be asked. */
  async untilStop(id: string, can: CanAsk, signal: AbortSignal): Promise<TaskFacts> {
    const { task } = await this.#find(id)
    const until = can.form || can.url ? ('stop' as const) : ('turn' as const)
    const read = async (mode: 'stop' | 'turn'): Promise<TaskFacts> => {
      const options = { from: task.first, until: mode, deltas: 'none' as const }
      for await (const _ of this.#engine.follow(task.ref, options, signal)) if (signal.aborted) break
      return this.get(id, can)
    }
    const facts = await read(until)
    return facts.status === 'working' && !signal.aborted ? read('turn') : facts
  }

  async #find(id: string): Promise<{ task: McpTask; summary: SessionSummary }> {
    const [, session, first] = /^([\w-]{1,128})\.(\d{1,15})$/.exec(id) ?? []
    if (session === undefined) throw unknownTask(id)
    const ref = { owner: this.#owner, session }
    const summary = await this.#engine.summary(ref).catch((error: unknown) => {
      throw isNotFound(error) ? unknownTask(id) : error
    })
    const task = new McpTask(ref, Number(first))
    const isHere = summary.turn?.first === task.first && summary.turn.wire === mcpWire
    if (!isHere && !(await this.#beginsTurn(task))) throw unknownTask(id)
    return { task, summary }
  }

  async #beginsTurn({ ref, first }: McpTask): Promise<boolean> {
    const [recorded] = await this.#engine.events(ref, first - 1, 1)
    const shown = recorded?.seq === first ? new ShownFold().take(recorded.event) : undefined
    return shown?.type === 'turn' && shown.turn.wire === mcpWire
  }

  async #over(id: string, { ref, first }: McpTask): Promise<TaskFacts> {
    const fold = new TurnResult(ref.session)
    let createdAt = 0
    for await (const { event } of readLog(this.#engine, ref, first - 1)) {
      if (createdAt === 0) createdAt = event.at
      fold.takeEvent(event)
      if (fold.isOver) break
    }
    return {
      id,
      createdAt,
      updatedAt: fold.at,
      requests: [],
      ...taskEnd(fold, () => fold.result(this.#agent, fold.tool)),
    }
  }
}

/** An error of the protocol is a failure. A tool that failed has completed, with a result that says so. */
function taskEnd(
  { outcome, stop, lost }: TurnResult,
  result: () => CallToolResult,
): Pick<TaskFacts, 'status' | 'result' | 'error'> {
  if (stop === 'cancelled' || outcome?.kind === 'cancelled') return { status: 'cancelled' }
  if (lost !== undefined) return { status: 'failed', error: { code: INTERNAL_ERROR, message: lost } }
  const code = outcome?.from.source === 'tool' ? outcome.from.protocolError : undefined
  if (outcome && code !== undefined)
    return { status: 'failed', error: { code, message: joinText(outcome.parts) } }
  return { status: 'completed', result: result() }
}

function unknownTask(id: string): ProtocolError {
  return new ProtocolError(INVALID_PARAMS, `There is no task ${JSON.stringify(id.slice(0, 200))}.`)
}
