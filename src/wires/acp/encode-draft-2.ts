// Translates updates of version 1 into the draft of version 2. Pure.

import type {
  AvailableCommand,
  SessionConfigOption,
  ToolCallContent,
  ToolCallUpdate,
} from '@agentclientprotocol/sdk'
import type * as v2 from '@agentclientprotocol/sdk/experimental/v2'
import { present } from '../../lib/json/present.ts'
import { splitLines } from '../../lib/text/line-diff.ts'
import type { AcpUpdate, SessionState } from './encode.ts'
import { deletedMark, type TerminalUpdate } from './encode-report.ts'

/** Undefined: version 2 has no such update. */
export function upgradeUpdate(update: AcpUpdate): v2.SessionUpdate | undefined {
  switch (update.sessionUpdate) {
    case 'state':
      return upgradeState(update)
    case 'terminal':
      return upgradeTerminal(update)
    case 'user_message_chunk':
    case 'agent_message_chunk':
    case 'agent_thought_chunk':
      // Every chunk of this wire has an id, although version 1 does not require it.
      return { ...update, messageId: update.messageId ?? '' }
    case 'tool_call':
    case 'tool_call_update':
      return { ...upgradeToolCall(update), ...cancellable(update.status), sessionUpdate: 'tool_call_update' }
    case 'plan':
      return {
        sessionUpdate: 'plan_update',
        plan: { type: 'items', planId: 'plan', entries: update.entries },
      }
    case 'available_commands_update':
      return {
        sessionUpdate: update.sessionUpdate,
        availableCommands: upgradeCommands(update.availableCommands),
      }
    case 'config_option_update':
      return { sessionUpdate: update.sessionUpdate, configOptions: upgradeOptions(update.configOptions) }
    case 'current_mode_update':
      return undefined
    case 'session_info_update':
    case 'usage_update':
    case 'notice':
    case 'compaction_update':
    case 'compaction_summary_chunk':
      return update
  }
}

export function upgradeToolCall({ content, ...call }: ToolCallUpdate): v2.ToolCallUpdate {
  return { ...call, ...(content != null && { content: content.flatMap(upgradeContent) }) }
}

/** An open call can be cancelled; one that has ended no longer. */
function cancellable(status: ToolCallUpdate['status']): Pick<v2.ToolCallUpdate, 'capabilities'> {
  if (status == null) return {}
  return { capabilities: status === 'pending' || status === 'in_progress' ? { cancel: {} } : null }
}

function upgradeContent(content: ToolCallContent): v2.ToolCallContent[] {
  if (content.type === 'content') return [{ type: 'content', content: content.content }]
  if (content.type === 'terminal') return [{ type: 'terminal', terminalId: content.terminalId }]
  const { path, oldText, newText } = content
  if (content._meta?.[deletedMark] === true)
    return [{ type: 'diff', changes: [{ operation: 'delete', path, fileType: 'text' }] }]
  return [
    {
      type: 'diff',
      changes: [
        oldText == null
          ? { operation: 'add', path, fileType: 'text' }
          : { operation: 'modify', path, fileType: 'text' },
      ],
      patch: { format: 'git_patch', text: writePatch(path, oldText ?? null, newText) },
    },
  ]
}

/** A patch that replaces the whole file in one hunk. */
function writePatch(path: string, before: string | null, after: string): string {
  const name = path.replace(/^\//, '')
  const [old, fresh] = [splitLines(before ?? ''), splitLines(after)]
  const range = (count: number): string => (count === 0 ? '0,0' : `1,${count}`)
  return [
    `diff --git a/${name} b/${name}`,
    ...(before === null ? ['new file mode 100644'] : []),
    before === null ? '--- /dev/null' : `--- a/${name}`,
    `+++ b/${name}`,
    `@@ -${range(old.length)} +${range(fresh.length)} @@`,
    ...old.map(line => `-${line}`),
    ...missingEnd(before ?? ''),
    ...fresh.map(line => `+${line}`),
    ...missingEnd(after),
    '',
  ].join('\n')
}

function missingEnd(text: string): string[] {
  return text === '' || text.endsWith('\n') ? [] : ['\\ No newline at end of file']
}

/** Output alone is a chunk; anything else updates the terminal. */
function upgradeTerminal({ terminalId, command, cwd, data, exit }: TerminalUpdate): v2.SessionUpdate {
  const bytes = data === undefined ? undefined : Buffer.from(data).toString('base64')
  if (bytes !== undefined && command === undefined && cwd === undefined && !exit)
    return { sessionUpdate: 'terminal_output_chunk', terminalId, data: bytes }
  return {
    sessionUpdate: 'terminal_update',
    terminalId,
    ...present({ command, cwd }),
    ...(bytes !== undefined && { output: { data: bytes } }),
    ...(command !== undefined && !exit && { capabilities: { cancel: {} } }),
    ...(exit && { capabilities: null }),
    ...(exit && { exitStatus: 'code' in exit ? { exitCode: exit.code } : { signal: exit.signal } }),
  }
}

function upgradeState(state: SessionState): v2.SessionUpdate {
  // Both versions have the same stop reasons, but the type does not take the union.
  return { ...state, sessionUpdate: 'state_update' } as v2.SessionUpdate
}

export function upgradeOptions(
  options: readonly SessionConfigOption[] | null | undefined,
): v2.SessionConfigOption[] {
  return (options ?? []).flatMap(({ id, ...option }) => {
    if (option.type !== 'select') return []
    const values = option.options.flatMap(choice => ('value' in choice ? [choice] : choice.options))
    return [{ ...option, configId: id, options: values }]
  })
}

export function upgradeCommands(commands: readonly AvailableCommand[]): v2.AvailableCommand[] {
  return commands.map(({ name, description, input }) => ({
    type: 'command',
    name,
    description,
    ...(input != null && { input: { type: 'text', hint: input.hint } }),
  }))
}
