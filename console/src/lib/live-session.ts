// One session for a page: its view, its log, and the actions of a person, over the operator API. The stream is closed
// while the page is hidden, because a browser opens few connections to one server; it continues where it was.

import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { CommandAccepted, OperatorCommand } from '../../../src/client/index.ts'
import type { Event } from '../../../src/language/events.ts'
import { isJsonObject, type Json } from '../../../src/lib/json/index.ts'
import { pickPresent, present } from '../../../src/lib/json/present.ts'
import type {
  ApprovalAnswer,
  ApprovalQuestion,
  CallView,
  SessionView,
  Watching,
  WatchSource,
} from '../../../src/react/index.ts'
import { decideCall, useShown } from '../../../src/react/use-lists.ts'
import { useSessionView } from '../../../src/react/use-session.ts'
import { prettyJson } from '../../../src/react/words.ts'
import { type OperatorTool, operator, useConsole } from './console-state.tsx'

export type LogEntry = { seq: number; event: Event }

export type LiveSession = Watching & {
  id: string
  /** The view has every event that the log had when the page was opened. */
  isCaughtUp: boolean
  /** Every event so far. It grows in place; `view.seq` says that it has. */
  log: readonly LogEntry[]
  command: (command: OperatorCommand) => Promise<CommandAccepted>
  decide: (call: CallView, answer: ApprovalAnswer) => Promise<void>
  question: (call: CallView) => ApprovalQuestion
  /** The session's agent's own tool of this name, or else another agent's. */
  findTool: (name: string) => OperatorTool | undefined
  loadWhole: (blob: string) => Promise<string>
}

export function useLiveSession(id: string | undefined): LiveSession {
  const { tools, catalogue, approvals } = useConsole()
  const kept = useRef<{ id: string | undefined; log: LogEntry[] }>({ id, log: [] })
  if (kept.current.id !== id) kept.current = { id, log: [] }
  const source = useMemo(() => recording(kept), [])
  const watching = useSessionView(source, id, !useShown())
  const session = id ?? ''
  const command = useCallback((given: OperatorCommand) => operator.command(session, given), [session])
  const { refresh } = approvals
  const decide = useCallback(
    async (call: CallView, answer: ApprovalAnswer) => {
      const { id: callId, name, argsHash, toolHash } = call
      const decided = { session, callId, tool: { name }, ...present({ argsHash, toolHash }) }
      await decideCall(operator, decided, answer)
      refresh()
    },
    [session, refresh],
  )
  const { view } = watching
  const agent = view?.agent
  const findTool = useCallback(
    (name: string) => {
      const own = catalogue?.agents.find(each => each.name === agent)
      return own?.tools.find(tool => tool.name === name) ?? tools.get(name)
    },
    [catalogue, agent, tools],
  )
  const waiting = approvals.approvals
  const question = useCallback(
    (call: CallView) => {
      const listed = waiting.find(each => each.callId === call.id)
      const asked = toApprovalQuestion(call, view, listed?.tool ?? findTool(call.name), session)
      // The list knows who looks at it.
      return { ...asked, ...(listed && pickPresent(listed, ['approvers', 'votes', 'whyNot'])) }
    },
    [view, findTool, waiting, session],
  )
  const loadWhole = useCallback((blob: string) => operator.blob(session, blob), [session])
  const isCaughtUp = useCaughtUp(id, view?.seq ?? 0)
  const log = kept.current.log
  return { ...watching, id: session, isCaughtUp, log, command, decide, question, findTool, loadWhole }
}

/** A log comes in pages. Where a page opens, and what a link leads to, is known when all of them are there. */
function useCaughtUp(id: string | undefined, seq: number): boolean {
  const [head, setHead] = useState<{ id: string; seq: number }>()
  useEffect(() => {
    if (id === undefined) return undefined
    const stop = new AbortController()
    operator.session(id, { signal: stop.signal }).then(
      ({ seq: last }) => setHead({ id, seq: last }),
      // The stream of the session says why. The events that came of it are shown.
      () => setHead({ id, seq: 0 }),
    )
    return () => stop.abort()
  }, [id])
  return head !== undefined && head.id === id && seq >= head.seq
}

/** Keeps each event that passes. */
function recording(kept: { current: { log: LogEntry[] } }): WatchSource {
  return {
    async *watch(id, options) {
      for await (const item of operator.follow(id, options)) {
        const { log } = kept.current
        if (item.type === 'event') {
          if (item.seq > (log.at(-1)?.seq ?? 0)) log.push(item)
          yield item
        } else if (item.type === 'delta') yield item
      }
    },
  }
}

function toApprovalQuestion(
  call: CallView,
  view: SessionView | undefined,
  tool: Partial<OperatorTool> | undefined,
  session: string,
): ApprovalQuestion {
  const { approval } = call
  // The message that led to the call: others may have come since.
  const made = call.seq ?? Infinity
  const message = view?.items.findLast(item => item.type === 'user' && item.seq < made)
  const text = message?.type === 'user' ? message.parts.find(part => part.type === 'text')?.text : undefined
  return {
    callId: call.id,
    session,
    message: text,
    tool: toQuestionTool(call.name, tool),
    form: call.form,
    text: call.text,
    argsHash: approval?.argsHash ?? call.argsHash ?? '',
    toolHash: approval?.toolHash,
    rule: approval?.rule ?? '',
    reason: approval?.reason,
    askedAt: approval?.at ?? call.proposedAt,
    expiresAt: approval?.expiresAt,
    expired: approval?.expired,
    preview: approval?.preview,
    flow: approval?.flow,
    last: view && lastApproved(view, call),
    changed: describeChange(tool),
  }
}

/** How a definition differs from the one that was accepted, as two texts. */
export function describeChange(tool: Partial<OperatorTool> | undefined): ApprovalQuestion['changed'] {
  const { accepted } = tool ?? {}
  if (!tool || !accepted) return undefined
  return { before: definitionText(accepted), after: definitionText(tool) }
}

/** A definition as text, to compare two of them. */
function definitionText(tool: Partial<OperatorTool>): string {
  const { title, description, input, output, readOnly, idempotent, destructive, kind } = tool
  const plain = { title, description, kind, readOnly, idempotent, destructive, input, output }
  return prettyJson(JSON.parse(JSON.stringify(plain)) as Json, '') // what was JSON is JSON
}

export function toQuestionTool(
  name: string,
  tool: Partial<OperatorTool> | undefined,
): ApprovalQuestion['tool'] {
  const { title, description, kind, destructive, input } = tool ?? {}
  const schema = input?.form === 'json' && isJsonObject(input.schema) ? input.schema : undefined
  return { name, title, description, kind, destructive, schema }
}

function lastApproved(view: SessionView, call: CallView): { text: string; at: number } | undefined {
  let last: { text: string; at: number } | undefined
  for (const each of view.calls.values()) {
    const decided = each.approval?.decided
    if (each.id !== call.id && each.name === call.name && decided?.granted)
      last = { text: each.text, at: decided.at }
  }
  return last
}
