// Lists that stay live: sessions, and calls that wait for a person. Both read from the operator API, follow its changes, and
// read again after each reconnect, so a restart of the server loses nothing.

import { useCallback, useEffect, useRef, useState } from 'react'
import type {
  OperatorApproval,
  OperatorCommand,
  OperatorQuestion,
  OperatorSession,
  OperatorSessions,
  SessionChanged,
  SessionQuery,
  WatchOptions,
} from '../client/index.ts'
import { isFailure } from '../language/events.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { present } from '../lib/json/present.ts'
import { toError } from '../lib/text/error-message.ts'
import type { ApprovalAnswer } from './approval.tsx'
import type { SessionConnection } from './session-page.ts'

/** Which sessions are listed. */
export type SessionFilter = Omit<SessionQuery, 'after' | 'limit'>

/** The methods of an OperatorClient that the lists need. */
export type ListSource = {
  sessions(query: SessionQuery): Promise<OperatorSessions>
  approvals(): Promise<{ approvals: OperatorApproval[]; questions?: OperatorQuestion[]; more?: boolean }>
  changes(options: Omit<WatchOptions, 'after'>): AsyncIterable<SessionChanged>
  command(id: string, command: OperatorCommand): Promise<unknown>
}

/** Calls `onChange` for each change while the page is shown, and every 15 seconds while it is hidden. */
export function useChanges(
  source: Pick<ListSource, 'changes'>,
  onChange: (change: SessionChanged) => void,
): SessionConnection {
  const [connection, setConnection] = useState<SessionConnection>('connecting')
  const isShown = useShown()
  const latest = useRef(onChange)
  latest.current = onChange
  useEffect(() => {
    if (!isShown) {
      // A browser opens few connections to one server: hidden pages leave them to the others.
      const timer = setInterval(() => latest.current({ type: 'open' }), 15_000)
      return () => clearInterval(timer)
    }
    const stop = new AbortController()
    void (async () => {
      for await (const change of source.changes({ signal: stop.signal, onState: setConnection }))
        latest.current(change)
    })().catch(() => setConnection('broken'))
    return () => stop.abort()
  }, [source, isShown])
  return connection
}

/** Whether the page is in sight. */
export function useShown(): boolean {
  const [isShown, setShown] = useState(() => document.visibilityState === 'visible')
  useEffect(() => {
    const look = (): void => setShown(document.visibilityState === 'visible')
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [])
  return isShown
}

export type UsedSessions = {
  sessions: readonly OperatorSession[]
  /** Whether the end of the list was read. */
  isWhole: boolean
  /** How many match, those that were not read yet included. Undefined: the server does not know. */
  total: number | undefined
  /** Sessions whose newest words a search does not know yet. */
  behind: number
  /** False: the server keeps no index. Then there is one order, and a search looks into openings and ids only. */
  isIndexed: boolean
  isLoading: boolean
  error: Error | undefined
  /** Reads the next page. */
  more: () => void
  take: (change: SessionChanged) => void
}

export function useSessions(source: Pick<ListSource, 'sessions'>, filter: SessionFilter = {}): UsedSessions {
  const [sessions, setSessions] = useState<readonly OperatorSession[]>([])
  const [next, setNext] = useState<string | null>()
  const [counted, setCounted] = useState<Counted>({ rest: undefined, behind: 0, isIndexed: true })
  const [error, setError] = useState<Error>()
  const [isLoading, setLoading] = useState(false)
  const isReading = useRef(false)
  /** The changes since the request for the current page: the page may be older than they are. */
  const since = useRef<ListChange[]>([])
  const key = JSON.stringify(filter)
  const read = useCallback(
    async (after: string | undefined, isCurrent: () => boolean) => {
      isReading.current = true
      since.current = []
      setLoading(true)
      try {
        const filtered = JSON.parse(key) as SessionFilter // it was made of one
        const page = await readRows(source, filtered, after, isCurrent)
        if (!isCurrent()) return
        const newer = since.current
        setSessions(before => {
          const rows = withPage(after ? before : [], page.sessions, filtered)
          return newer.reduce<readonly OperatorSession[]>((all, each) => changed(all, each, filtered), rows)
        })
        setNext(page.next ?? null)
        setCounted(before => (after ? withoutRead(before, page) : countAll(page)))
        setError(undefined)
      } catch (cause) {
        if (isCurrent()) setError(toError(cause))
      } finally {
        if (isCurrent()) {
          isReading.current = false
          setLoading(false)
        }
      }
    },
    [source, key],
  )
  const generation = useRef(0)
  const restart = useCallback(() => {
    const own = ++generation.current
    void read(undefined, () => generation.current === own)
  }, [read])
  useEffect(restart, [restart])
  const more = useCallback(() => {
    if (typeof next !== 'string' || isReading.current) return
    const own = generation.current
    void read(next, () => generation.current === own)
  }, [next, read])
  const take = useCallback(
    (change: SessionChanged) => {
      if (change.type === 'open') return restart()
      if (isReading.current) since.current.push(change)
      setSessions(before => changed(before, change, JSON.parse(key) as SessionFilter))
    },
    [restart, key],
  )
  return { sessions, isWhole: next === null, ...counts(sessions, counted), isLoading, error, more, take }
}

function counts(
  sessions: readonly OperatorSession[],
  { rest, ...known }: Counted,
): Pick<UsedSessions, 'total' | 'behind' | 'isIndexed'> {
  return { ...known, total: rest === undefined ? undefined : sessions.length + rest }
}

function newestFirst(a: OperatorSession, b: OperatorSession): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}

/** Rows are in order, newest first: a page mostly goes to the end, and one row costs no sorting of the others. */
function withRows(before: readonly OperatorSession[], rows: readonly OperatorSession[]): OperatorSession[] {
  const [first] = rows
  const last = before.at(-1)
  if (first && (!last || newestFirst(last, first) < 0)) return before.concat(rows)
  const all = before.slice()
  for (const row of rows) {
    const place = rowPlace(all, row)
    all.splice(place, all[place]?.id === row.id ? 1 : 0, row)
  }
  return all
}

async function readRows(
  source: Pick<ListSource, 'sessions'>,
  filter: SessionFilter,
  after: string | undefined,
  isCurrent: () => boolean,
): Promise<OperatorSessions> {
  let page = await source.sessions({ ...filter, ...(after && { after }), limit: 200 })
  // A request may look at a bounded number of sessions: that none of them matches says nothing of the others.
  while (isCurrent() && page.sessions.length === 0 && page.next !== undefined)
    page = await source.sessions({ ...filter, after: page.next, limit: 200 })
  return page
}

/** `rest`: those that match and were not read. */
type Counted = { rest: number | undefined; behind: number; isIndexed: boolean }

/** Only the first page tells how many there are, and whether there is an index. */
function countAll({ sessions, next, total, behind }: OperatorSessions): Counted {
  const rest = next === undefined ? 0 : total && Math.max(0, total - sessions.length)
  return { rest, behind: behind ?? 0, isIndexed: behind !== undefined }
}

function withoutRead(before: Counted, { sessions, next }: OperatorSessions): Counted {
  const rest = next === undefined ? 0 : before.rest && Math.max(0, before.rest - sessions.length)
  return { ...before, rest }
}

/** The order in which the list is without being asked for another. A search has one of its own. */
function isListOrder({ q, sort = 'created', ascending = false }: SessionFilter): boolean {
  return !q && sort === 'created' && !ascending
}

/** In an order that is not the list's own, a row that has moved meanwhile stays where it was. */
function withPage(
  before: readonly OperatorSession[],
  rows: readonly OperatorSession[],
  filter: SessionFilter,
): OperatorSession[] {
  if (isListOrder(filter)) return withRows(before, rows)
  const known = new Set(before.map(({ id }) => id))
  return before.concat(rows.filter(({ id }) => !known.has(id)))
}

/** Where a row is, or belongs. */
function rowPlace(rows: readonly OperatorSession[], row: OperatorSession): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (newestFirst(rows[middle]!, row) < 0) low = middle + 1
    else high = middle
  }
  return low
}

type ListChange = Exclude<SessionChanged, { type: 'open' }>

function changed(
  before: readonly OperatorSession[],
  change: ListChange,
  filter: SessionFilter,
): readonly OperatorSession[] {
  if (change.type === 'session') {
    const { session } = change
    if (isListOrder(filter) && passes(session, filter)) return withRows(before, [session])
    // Only the server knows where it belongs, and whether its log has the words.
    if (!isListOrder(filter)) {
      const isNew = isNewestFirst(filter) && passes(session, filter) && !has(before, session.id)
      return isNew ? [session, ...before] : inPlace(before, session)
    }
  }
  const id = change.type === 'removed' ? change.id : change.session.id
  return has(before, id) ? before.filter(row => row.id !== id) : before
}

/** The last change comes first. A search has this order unless it is asked for another. */
function isNewestFirst({ q, sort = q ? 'changed' : 'created', ascending = false }: SessionFilter): boolean {
  return sort === 'changed' && !ascending
}

function has(rows: readonly OperatorSession[], id: string): boolean {
  return rows.some(row => row.id === id)
}

/** Replaces a row that is in the list, and keeps the words that a search found in it. */
function inPlace(before: readonly OperatorSession[], now: OperatorSession): readonly OperatorSession[] {
  const at = before.findIndex(({ id }) => id === now.id)
  return at < 0 ? before : before.with(at, { ...before[at], ...now })
}

/** As the server filters. */
export function passes(row: OperatorSession, filter: SessionFilter): boolean {
  const { status, agent, owner, model, q, from, to } = filter
  const words = q?.toLowerCase() ?? ''
  return (
    (!status || (status === 'failed' ? isFailure(row.stop) : row.status === status)) &&
    (!agent || row.agent === agent) &&
    (!owner || row.owner === owner) &&
    (!model || row.model === model) &&
    (from === undefined || row.updatedAt >= from) &&
    (to === undefined || row.createdAt < to) &&
    (words === '' ||
      row.id.toLowerCase().includes(words) ||
      (row.opening ?? '').toLowerCase().includes(words))
  )
}

/** The call that a decision is about. */
export type DecidedCall = Pick<OperatorApproval, 'session' | 'callId' | 'tool' | 'argsHash' | 'toolHash'>

export type UsedApprovals = {
  approvals: readonly OperatorApproval[]
  /** Questions of running calls. */
  questions: readonly OperatorQuestion[]
  /** There are others, in sessions that the server has not looked at. */
  more: boolean
  isLoading: boolean
  error: Error | undefined
  /** Reads them again. */
  refresh: () => void
  decide: (approval: DecidedCall, answer: ApprovalAnswer) => Promise<void>
}

export function useApprovals(source: Pick<ListSource, 'approvals' | 'command'>): UsedApprovals {
  const [approvals, setApprovals] = useState<readonly OperatorApproval[]>([])
  const [questions, setQuestions] = useState<readonly OperatorQuestion[]>([])
  const [more, setMore] = useState(false)
  const [isLoading, setLoading] = useState(true)
  const [error, setError] = useState<Error>()
  const due = useRef<ReturnType<typeof setTimeout>>(undefined)
  const read = useCallback(async () => {
    try {
      const now = await source.approvals()
      setApprovals(now.approvals)
      setQuestions(now.questions ?? [])
      setMore(now.more ?? false)
      setError(undefined)
    } catch (cause) {
      setError(toError(cause))
    }
    setLoading(false)
  }, [source])
  /** Many changes in a moment lead to one request. */
  const refresh = useCallback(() => {
    clearTimeout(due.current)
    due.current = setTimeout(() => void read(), 60)
  }, [read])
  useEffect(() => {
    refresh()
    return () => clearTimeout(due.current)
  }, [refresh])
  const decide = useCallback<UsedApprovals['decide']>(
    async (approval, answer) => {
      await decideCall(source, approval, answer)
      setApprovals(before => before.filter(each => each.callId !== approval.callId))
      refresh()
    },
    [source, refresh],
  )
  return { approvals, questions, more, isLoading, error, refresh, decide }
}

/** A decision, and the grant that a person gave with it. */
export async function decideCall(
  source: Pick<ListSource, 'command'>,
  { session, callId, tool, argsHash, toolHash }: DecidedCall,
  answer: ApprovalAnswer,
): Promise<void> {
  const { granted, seen, always } = answer
  if (granted && always) {
    const { covers, where, expiresAt, uses } = always
    await source.command(session, {
      do: 'grant',
      tool: tool.name,
      toolHash: toolHash ?? '',
      ...(covers === 'same' && argsHash !== undefined && { argsHash }),
      ...(covers === 'where' && { where: { ...where } }),
      ...present({ expiresAt, uses }),
    })
  }
  await source.command(session, {
    do: 'decide',
    callId,
    granted,
    seen,
    ...(granted
      ? answer.edit !== undefined && { edit: parseEdit(answer.edit) }
      : answer.reason !== undefined && { reason: answer.reason }),
  })
}

/** Free text goes into its member `input`. */
function parseEdit(edit: JsonObject | string): JsonObject {
  return typeof edit === 'string' ? { input: edit } : edit
}
