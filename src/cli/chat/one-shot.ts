// One message and its answer, for scripts: the answer alone on standard output, or one JSON object, and an exit code that
// says how it ended. Nobody is asked: a call that needs a permission ends it as waiting, and the session can be continued.

import {
  type AapClient,
  type AgentInfo,
  type RunTurnResult,
  type ToolCall,
  textOfContent,
} from '../../client/index.ts'
import { present } from '../../lib/json/present.ts'
import { printable, printableEnds, printableJson } from '../../lib/text/index.ts'
import { closingLine, lastText } from './closing.ts'
import { createSession, localTools } from './local-tools.ts'

export type OneShot = {
  client: AapClient
  agent: AgentInfo
  /** Tools that run without asking. */
  trusted: ReadonlySet<string>
  text: string
  session?: string
  json: boolean
  /** The command that continues here, without the session. */
  again: string
  /** New lines of the server's log, if they are known here. */
  troubles(): string[]
}

type Status = 'done' | 'failed' | 'refused' | 'waiting' | 'cancelled'

/** 2 is for a mistake on the command line. */
const exitCodes: Readonly<Record<Status, number>> = {
  done: 0,
  failed: 1,
  refused: 3,
  waiting: 4,
  cancelled: 130,
}

export async function runOneShot(shot: OneShot): Promise<number> {
  const session = shot.session ?? (await createSession(shot.client, shot.agent, shot.trusted))
  const controller = new AbortController()
  const interrupt = (): void => controller.abort()
  process.once('SIGINT', interrupt)
  try {
    const { client, text } = shot
    const result = await client.runTurn({
      sessionId: session,
      text,
      tools: localTools,
      signal: controller.signal,
    })
    const status = exitStatus(result)
    if (shot.json) writeJson(session, status, result, shot.troubles())
    else writeText(shot, session, status, result)
    return exitCodes[status]
  } finally {
    process.off('SIGINT', interrupt)
  }
}

function exitStatus({ stopReason }: RunTurnResult): Status {
  switch (stopReason) {
    case 'end_turn':
      return 'done'
    case 'refusal':
      return 'refused'
    case 'tool_use':
      return 'waiting'
    case 'cancelled':
      return 'cancelled'
    default:
      return 'failed'
  }
}

function writeJson(
  session: string,
  status: Status,
  result: RunTurnResult,
  troubles: readonly string[],
): void {
  const { stopReason, pending, error = troubles[0], code, limit } = result
  const calls = pending.map(({ toolCallId, name, input, reason }) => ({
    callId: toolCallId,
    name,
    input,
    ...(reason !== undefined && { reason }),
  }))
  const shown = {
    status,
    session,
    text: lastText(result),
    stop: stopReason,
    ...(calls.length > 0 && { pending: calls }),
    ...(error !== undefined && status === 'failed' && { error }),
    ...present({ code, limit }),
    results: result.messages.flatMap(message =>
      message.role === 'tool' ? [{ callId: message.toolCallId, text: textOfContent(message.content) }] : [],
    ),
  }
  process.stdout.write(`${printableJson(JSON.stringify(shown))}\n`)
}

function writeText(shot: OneShot, session: string, status: Status, result: RunTurnResult): void {
  const answer = lastText(result)
  if (answer !== '') process.stdout.write(`${printable(answer, { multiline: true })}\n`)
  const words = closingWords(status, result, shot)
  if (words !== '') process.stderr.write(`${words}\n`)
  if (status !== 'waiting') return
  process.stderr.write(`Answer it with: ${printable(shot.again, 300)} --session ${printable(session, 80)}\n`)
  const names = trustable(result, shot.trusted)
  if (names !== '')
    process.stderr.write(
      `From a script, tools may run without a question: --trust ${printable(names, 300)}\n`,
    )
}

/** A call with a reason is asked about by a rule or by the flow of values, whatever is trusted. */
function trustable({ pending }: RunTurnResult, trusted: ReadonlySet<string>): string {
  const asked = pending.filter(({ name, reason }) => reason === undefined && !trusted.has(name))
  return [...new Set(asked.map(({ name }) => name))].join(',')
}

function closingWords(status: Status, result: RunTurnResult, shot: OneShot): string {
  const { error, limit, pending } = result
  if (status === 'waiting') return `It waits for a permission: ${pending.map(callWords).join(', ')}.`
  if (status !== 'failed') return closingLine(result)
  if (limit !== undefined) return closingLine({ ...result, stopReason: 'max_tokens' })
  return printable(shot.troubles()[0] ?? error ?? 'It failed. The log of the server says why.', 2000)
}

function callWords({ name, input, reason }: ToolCall): string {
  const why = reason === undefined ? '' : ` (${printable(reason, 300)})`
  return `${printable(name, 80)} ${printableEnds(JSON.stringify(input), { maxChars: 400 })}${why}`
}
