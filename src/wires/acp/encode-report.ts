// Encodes the reports of tools: files, differences, tables, and terminals of the runtime's own. Pure. Relative paths
// are those of the session's working folder. Version 1 has only terminals of the client, so a client that shows others
// says so in `clientCapabilities._meta.terminal_output`, as editors do.

import { isAbsolute, resolve } from 'node:path'
import type { SessionUpdate, ToolCallContent, ToolCallLocation } from '@agentclientprotocol/sdk'
import type { Delta } from '../../language/events.ts'
import type { Report, Rows, TerminalReport } from '../../language/report.ts'
import { present } from '../../lib/json/present.ts'
import { printable } from '../../lib/text/index.ts'

/** A terminal that the runtime has: what it is, what it showed, how it ended. */
export type TerminalUpdate = {
  sessionUpdate: 'terminal'
  toolCallId: string
  terminalId: string
  command?: string
  cwd?: string
  /** Further output. */
  data?: string
  exit?: TerminalReport['exit']
}

const absolute = (path: string, cwd: string): string => (isAbsolute(path) ? path : resolve(cwd, path))

/** Every file that a report names. */
export function reportLocations({ locations = [], diffs = [] }: Report, cwd: string): ToolCallLocation[] {
  const found = new Map<string, ToolCallLocation>()
  for (const { path, line } of locations) {
    const where = absolute(path, cwd)
    if (!found.has(where)) found.set(where, line === undefined ? { path: where } : { path: where, line })
  }
  for (const { path } of diffs) {
    const where = absolute(path, cwd)
    if (!found.has(where)) found.set(where, { path: where })
  }
  return [...found.values()]
}

/** Marks a diff of a file that is deleted: version 1 has no word for it. */
export const deletedMark = 'turnwire.dev/deleted'

function reportDiffs({ diffs = [] }: Report, cwd: string): ToolCallContent[] {
  return diffs.map(({ path, oldText, newText }) => ({
    type: 'diff',
    path: absolute(path, cwd),
    oldText,
    newText: newText ?? '',
    ...(newText === null && { _meta: { [deletedMark]: true } }),
  }))
}

/** The report as content that replaces a result's own: differences, and a table as Markdown text. */
export function reportContent(report: Report, cwd: string): ToolCallContent[] {
  const { rows } = report
  const table = rows ? [{ type: 'content' as const, content: markdownTable(rows) }] : []
  return [...reportDiffs(report, cwd), ...table]
}

function markdownTable({ columns, rows }: Rows): { type: 'text'; text: string } {
  const line = (cells: readonly string[]): string => `| ${cells.map(markdownCell).join(' | ')} |`
  const lines = [line(columns), `|${columns.map(() => ' --- |').join('')}`, ...rows.map(line)]
  return { type: 'text', text: lines.join('\n') }
}

/** On one line, and as plain text: nothing in a cell ends it, or becomes a link, code or HTML. */
function markdownCell(text: string): string {
  return printable(text).replace(/[\\`*_[\]<>|~&]/g, '\\$&')
}

/** The ids of terminals are unique within a session. */
const acpTerminalId = (callId: string, terminal: string): string => `${callId}:${terminal}`

/** The call that a terminal belongs to. Ids of calls have no colon. */
export const terminalCall = (terminalId: string): string => terminalId.split(':', 1)[0] ?? ''

export function terminalContent(callId: string, { terminals = [] }: Report): ToolCallContent[] {
  return terminals.map(({ id }) => ({ type: 'terminal', terminalId: acpTerminalId(callId, id) }))
}

/** `shown`: how much of each terminal's output was sent, by its id. */
export function terminalUpdates(
  callId: string,
  { terminals = [] }: Report,
  shown: ReadonlySet<string>,
): TerminalUpdate[] {
  return terminals.map(({ id, command, cwd, output, exit }) => ({
    sessionUpdate: 'terminal',
    toolCallId: callId,
    terminalId: acpTerminalId(callId, id),
    ...present({ command, cwd }),
    // Output that was streamed is not sent twice.
    ...(output !== undefined && output !== '' && !shown.has(id) && { data: output }),
    ...(exit && { exit }),
  }))
}

export function terminalOutput(delta: Extract<Delta, { type: 'output' }>): TerminalUpdate | undefined {
  const { callId, terminal, text } = delta
  if (terminal === undefined) return undefined
  return {
    sessionUpdate: 'terminal',
    toolCallId: callId,
    terminalId: acpTerminalId(callId, terminal),
    data: text,
  }
}

/** As clients of version 1 take it: in `_meta` of the call. */
export function terminalMeta(update: TerminalUpdate): SessionUpdate {
  const { toolCallId, terminalId: terminal_id, cwd, data, exit } = update
  const isNew = update.command !== undefined || cwd !== undefined
  return {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    _meta: {
      ...(isNew && { terminal_info: { terminal_id, ...(cwd !== undefined && { cwd }) } }),
      ...(data !== undefined && { terminal_output: { terminal_id, data } }),
      ...(exit && {
        terminal_exit: {
          terminal_id,
          exit_code: 'code' in exit ? exit.code : null,
          signal: 'signal' in exit ? exit.signal : null,
        },
      }),
    },
  }
}
