// The routes that show a history, and the result of one call.
import type { Context } from 'hono'
import type { AgentInfo, SessionCall, SessionRef, SessionSummary } from '../../engine/index.ts'
import type { CallResult } from '../../language/calls.ts'
import type { ResultPart } from '../../language/content.ts'
import { hasCode, TurnwireError } from '../../language/errors.ts'
import type { Entry } from '../../language/history.ts'
import type { WireEnv, WireHost } from '../host.ts'
import { sendJson, streamJson } from '../http/index.ts'
import { logUpTo, newHeld, readHistory } from '../read-log.ts'
import { withWaiting } from '../waiting-calls.ts'
import { encodeEntry, encodeResult, encodeRunning } from './encode.ts'
import { keptHeld, keptResult } from './encode-kept.ts'
import type { HistoryType, SessionInfo } from './schema.ts'
import { refuseAap } from './wordings.ts'

type Handler = (c: Context<WireEnv>) => Promise<Response>

export class HistoryHandlers {
  readonly #host: WireHost
  readonly #refOf: (c: Context<WireEnv>) => SessionRef

  constructor(host: WireHost, refOf: (c: Context<WireEnv>) => SessionRef) {
    this.#host = host
    this.#refOf = refOf
  }

  readonly history: Handler = async c => {
    const type = historyType(c.req.query('type'), 'type')
    const summary = await c.get('engine').summary(this.#refOf(c))
    checkHistoryType(
      type,
      this.#host.about.agents.find(({ name }) => name === summary.agent),
    )
    return this.#send(c, summary, [type], '{"history":')
  }

  /** A session of version 1, which shows its history too. */
  sendWithInfo(
    c: Context<WireEnv>,
    info: SessionInfo,
    summary: SessionSummary,
    agent: AgentInfo | undefined,
  ): Promise<Response> {
    const types = historyTypesOfV1(c.req.query('history'), agent)
    return this.#send(c, summary, types, `${JSON.stringify(info).slice(0, -1)},"history":`)
  }

  #send(
    c: Context<WireEnv>,
    { compaction, calls, seq }: SessionSummary,
    types: readonly HistoryType[],
    before: string,
  ): Promise<Response> {
    const held = newHeld()
    const ref = this.#refOf(c)
    // The calls are as they stood at this event: the history has to stand there too.
    const log = logUpTo(c.get('engine'), seq)
    const encodeEntries = (type: HistoryType) =>
      readHistory(log, ref, type === 'compacted' ? compaction : undefined, held)
    return streamJson(c, this.#host, this.#json(c, ref, types, before, calls, encodeEntries), held)
  }

  /** The history as JSON, message by message: it may be longer than memory allows. */
  async *#json(
    c: Context<WireEnv>,
    ref: SessionRef,
    types: readonly HistoryType[],
    before: string,
    calls: readonly SessionCall[],
    entriesOf: (type: HistoryType) => AsyncIterable<Entry>,
  ): AsyncGenerator<string, void, undefined> {
    yield before
    for (const [index, type] of types.entries()) {
      yield `${index === 0 ? '{' : ','}${JSON.stringify(type)}:[`
      const whole = (result: CallResult) =>
        type === 'full' ? this.#whole(c, ref, result) : Promise.resolve(result.outcome.parts)
      let comma = ''
      for await (const entry of entriesOf(type))
        for await (const message of encodeEntry(withWaiting(entry, calls), whole)) {
          yield comma + JSON.stringify(message)
          comma = ','
        }
      for (const message of calls.flatMap(encodeRunning)) {
        yield comma + JSON.stringify(message)
        comma = ','
      }
      yield ']'
    }
    yield '}}'
  }

  /** The parts of a result as they were before they were cut for the model. */
  async #whole(
    c: Context<WireEnv>,
    ref: SessionRef,
    { outcome }: CallResult,
  ): Promise<readonly ResultPart[]> {
    if (!outcome.cut) return outcome.parts
    try {
      // The gate wrote it, from parts that it had made.
      return JSON.parse(
        await c.get('engine').blob(ref, { get: 'text', name: outcome.cut.blob }),
      ) as ResultPart[]
    } catch (error) {
      if (hasCode(error, 'not_found')) return outcome.parts
      throw error
    }
  }

  readonly result: Handler = async c => {
    const ref = this.#refOf(c)
    const callId = c.req.param('callId')
    await c.get('engine').summary(ref)
    for await (const entry of readHistory(c.get('engine'), ref)) {
      const found = entry.role === 'tool' && entry.results.find(result => result.callId === callId)
      if (!found) continue
      const { kept } = found.outcome
      if (kept && !kept.binary)
        return streamJson(c, this.#host, keptResult(c.get('engine'), ref, found.callId, kept), keptHeld)
      return sendJson(c, encodeResult(found.callId, await this.#whole(c, ref, found)))
    }
    throw new TurnwireError('not_found', 'There is no result of such a call in this session.')
  }
}

/** Without `?history=` it holds every kind that the agent declares, as the first servers of version 1 gave it. */
function historyTypesOfV1(asked: string | undefined, agent: AgentInfo | undefined): HistoryType[] {
  if (asked === undefined) return agent?.fullHistory ? ['compacted', 'full'] : ['compacted']
  const type = historyType(asked, 'history')
  checkHistoryType(type, agent)
  return [type]
}

function checkHistoryType(type: HistoryType, agent: AgentInfo | undefined): void {
  if (type === 'full' && !agent?.fullHistory)
    throw new TurnwireError('history_not_found', 'Specified history not found')
}

function historyType(value: string | undefined, field: string): HistoryType {
  return value === 'compacted' || value === 'full'
    ? value
    : refuseAap(`${field} must be "compacted" or "full"`)
}
