// One session, live: its view, and the actions of a person. The page needs only the session's id: after a reload or a
// restart of the server everything comes from the log, including calls that still wait.
import { useEffect, useMemo, useRef, useState } from 'react'
import type { Content } from '../client/index.ts'
import type { ApprovalAnswer } from './approval.tsx'
import {
  followView,
  nothingYet,
  type PageTools,
  runPageTools,
  type SessionActions,
  type SessionClient,
  sessionActions,
  type Watching,
  type WatchSource,
  waitingForPerson,
} from './session-page.ts'
import type { CallView, SessionView } from './view.ts'
import { ViewFold } from './view-fold.ts'

/** The view of a session, drawn at most once per frame. `paused`: closes the stream; it continues where it was. */
export function useSessionView(source: WatchSource, sessionId: string | undefined, paused = false): Watching {
  const [state, setState] = useState<Watching>(nothingYet)
  const fold = useRef<{ id: string | undefined; fold: ViewFold }>(undefined)
  useEffect(() => {
    if (fold.current?.id !== sessionId) {
      fold.current = { id: sessionId, fold: new ViewFold() }
      setState(nothingYet)
    }
    if (sessionId === undefined || paused) return undefined
    const stop = new AbortController()
    const own = fold.current?.fold ?? new ViewFold()
    void followView(source, sessionId, own, stop.signal, setState)
    return () => stop.abort()
  }, [source, sessionId, paused])
  return state
}

export type UseSessionOptions = {
  /** The page's own tools, by the names under which the session declares them. One tab of a page runs each call. */
  tools?: PageTools
}

export type UsedSession = Watching &
  Omit<SessionActions, 'submit' | 'decide'> & {
    /** Calls that wait for a person. */
    approvals: CallView[]
    decide: (callId: string, answer: ApprovalAnswer) => Promise<void>
  }

/** Over the Agent Application Protocol. */
export function useSession(
  client: SessionClient,
  sessionId: string | undefined,
  { tools }: UseSessionOptions = {},
): UsedSession {
  const watching = useSessionView(client, sessionId)
  const { submit, ...actions } = useMemo(() => sessionActions(client, () => sessionId), [client, sessionId])
  useClientTools(watching.view, tools, submit)
  return { ...watching, approvals: waitingForPerson(watching.view), ...actions }
}

/** Runs the calls that wait for this page, each once. */
export function useClientTools(
  view: SessionView | undefined,
  tools: PageTools | undefined,
  submit: (message: { role: 'tool'; toolCallId: string; content: Content }) => Promise<unknown>,
): void {
  const begun = useRef(new Set<string>())
  useEffect(() => {
    if (view && tools) runPageTools(view, tools, begun.current, submit)
  })
}
