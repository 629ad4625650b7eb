// The route. A thread is a session: the first run of a thread makes it, later runs continue it. A client that closes its run
// early ends the turn: the protocol has no other way to stop one.
import { type Context, Hono } from 'hono'
import type {
  Accepted,
  Command,
  Engine,
  GivenAnswer,
  GivenDecision,
  SessionRef,
  SessionSummary,
} from '../../engine/index.ts'
import { type Json, parseJson } from '../../lib/json/index.ts'
import { messageKeys, newWords, openThread } from '../client-threads.ts'
import { agentNamed, type WireEnv, type WireHost } from '../host.ts'
import { readJsonObject } from '../http/index.ts'
import { streamItems } from '../http/stream.ts'
import { changeOwn } from '../own-tools.ts'
import { StopByLeaving } from '../stop-by-leaving.ts'
import {
  aguiWire,
  decodeAnswer,
  decodeContext,
  decodeDecision,
  decodeResults,
  decodeRunInput,
  decodeRunTools,
  threadCreation,
  userMessages,
} from './decode.ts'
import { type RunItem, runFrames } from './encode.ts'
import type { RunInput } from './schema.ts'

export function aguiRoutes(host: WireHost): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  const turns = new StopByLeaving(aguiWire)
  app.post('/agui/:agent', c => serveRun(c, host, turns))
  return app
}

async function serveRun(c: Context<WireEnv>, host: WireHost, turns: StopByLeaving): Promise<Response> {
  const engine = c.get('engine')
  const body = await readJsonObject(c, host.limits)
  const input = decodeRunInput(body)
  const agent = agentNamed(host, c.req.param('agent') ?? '')
  const { owner, name } = c.get('principal')
  const thread = { owner, wire: aguiWire, agent: agent.name, id: input.threadId }
  const ref = await openThread(engine, thread, () =>
    threadCreation(input, agent, value => unseal(host, owner, value)),
  )
  const users = userMessages(input, agent)
  const before = await engine.summary(ref, messageKeys(input.messages, users))
  const results = decodeResults(input.messages, agent, before.calls)
  const { decisions, answers } = resumedBy(input, name)
  const answered = results.length + decisions.length + answers.length > 0
  const words = newWords(before, input.messages, answered, users)
  const commands = toCommands(before, input, { results, decisions, answers, words })
  const [command] = commands
  // A refusal of the first command is an error of HTTP; after that it is an event of the stream.
  const first = command && (await turns.command(engine, ref, command))
  c.env.outgoing.setHeader('X-Session-Id', ref.session)
  const frames = runFrames({
    threadId: input.threadId,
    runId: input.runId,
    version: readVersion(input),
    // Its shape was checked. Members that were not read go back as they came.
    messages: body['messages'] as Json[],
    own: new Set(results.map(({ callId }) => callId)),
    rejoins: commands.length === 0,
    before,
    seal: value => seal(host, owner, value),
  })
  const items = (signal: AbortSignal) => runItems(engine, ref, { before, commands, first, turns }, signal)
  return streamItems(c, host, items, frames)
}

type Plan = {
  before: SessionSummary
  commands: readonly Command[]
  first: Accepted | undefined
  turns: StopByLeaving
}

/** Gives the commands one after the other and what comes of each. Without a command, a running turn is joined. */
async function* runItems(
  engine: Engine,
  ref: SessionRef,
  { before, commands, first, turns }: Plan,
  signal: AbortSignal,
): AsyncGenerator<readonly RunItem[], void, undefined> {
  const follow = { until: 'stop', deltas: 'take-back', as: aguiWire } as const
  if (commands.length === 0 && before.status === 'running')
    yield* turns.watch(engine, ref, engine.follow(ref, { ...follow, from: before.seq + 1 }, signal), {
      signal,
    })
  for (const [index, command] of commands.entries()) {
    if (index > 0 && signal.aborted) return
    const accepted = index === 0 && first ? first : await turns.command(engine, ref, command)
    if (command.do === 'say') yield [{ type: 'message-sent' }]
    const items = engine.follow(ref, { ...follow, from: accepted.first, replay: accepted.replayed }, signal)
    yield* turns.watch(engine, ref, items, {
      signal,
      ...(accepted.turn !== undefined && { turn: accepted.turn }),
    })
  }
}

function toCommands(
  { settings }: SessionSummary,
  { context, tools }: RunInput,
  {
    results,
    decisions,
    answers,
    words,
  }: Pick<Extract<Command, { do: 'respond' }>, 'results' | 'decisions'> & {
    answers: GivenAnswer[]
    words: ReturnType<typeof newWords>
  },
): Command[] {
  const system = decodeContext(context)
  const ask = system === undefined ? {} : { ask: { system } }
  // Tools come with every run; they are recorded when they have changed.
  const change = changeOwn(settings, aguiWire, decodeRunTools(tools))
  const changed = change ? { settings: change } : {}
  const commands: Command[] = []
  if (results.length + decisions.length + answers.length > 0)
    commands.push({ do: 'respond', results, decisions, answers, skipAnswered: true, ...ask, ...changed })
  if (words)
    commands.push({ do: 'say', wire: aguiWire, ...words, ...ask, ...(commands.length === 0 && changed) })
  return commands
}

/** 1.0 added the member with which a client says its version. */
function readVersion({ protocolVersion }: RunInput): '1.0' | 'before 1.0' {
  return protocolVersion === undefined || protocolVersion.startsWith('0.') ? 'before 1.0' : '1.0'
}

/** A question of a running call has an id of its own; an approval has that of its call. */
function resumedBy(
  { resume = [] }: RunInput,
  by: string,
): { decisions: GivenDecision[]; answers: GivenAnswer[] } {
  const isAnswer = ({ interruptId }: { interruptId: string }): boolean => interruptId.startsWith('question_')
  return {
    decisions: resume.filter(entry => !isAnswer(entry)).map(entry => decodeDecision(entry, by)),
    answers: resume.filter(isAnswer).map(entry => decodeAnswer(entry, by)),
  }
}

/** Sealed values are good for their owner only. */
function seal(host: WireHost, owner: string, value: Json): string {
  return host.seal(JSON.stringify([aguiWire, owner, value]), 'agui value')
}

/** Undefined for a value that was not sealed here for this owner. */
function unseal(host: WireHost, owner: string, text: string): Json | undefined {
  try {
    const opened = parseJson(host.unseal(text, 'agui value'))
    const [wire, whose, value] = Array.isArray(opened) ? opened : []
    return wire === aguiWire && whose === owner ? value : undefined
  } catch {
    return undefined
  }
}
