// One session, live, as refs: its view, and the actions of a person. What it follows and sends is in session-page.ts, which
// React's hook uses too. The page needs only the session's id: after a reload everything comes from the log, including calls that
// still wait.
import {
  type ComputedRef,
  computed,
  getCurrentInstance,
  type MaybeRefOrGetter,
  onMounted,
  shallowRef,
  toValue,
  watch,
} from 'vue'
import {
  followView,
  nothingYet,
  type PageTools,
  runPageTools,
  type SessionActions,
  type SessionClient,
  type SessionConnection,
  sessionActions,
  waitingForPerson,
} from '../react/session-page.ts'
import type { CallView, SessionView } from '../react/view.ts'
import { ViewFold } from '../react/view-fold.ts'

export type UseSessionOptions = {
  /** The page's own tools, by the names under which the session declares them. One tab of a page runs each call. */
  tools?: PageTools
}

export type UsedSession = Omit<SessionActions, 'submit'> & {
  /** Undefined until the first event has come. It is replaced, never changed, at most once per frame. */
  view: ComputedRef<SessionView | undefined>
  connection: ComputedRef<SessionConnection>
  error: ComputedRef<Error | undefined>
  /** Calls that wait for a person. */
  approvals: ComputedRef<CallView[]>
}

/** `sessionId` may be a ref or a getter. The stream is open while the component is mounted, and not while a server renders it. */
export function useSession(
  client: SessionClient,
  sessionId: MaybeRefOrGetter<string | undefined>,
  { tools }: UseSessionOptions = {},
): UsedSession {
  const state = shallowRef(nothingYet)
  const { submit, ...actions } = sessionActions(client, () => toValue(sessionId))
  const begun = new Set<string>()

  const follow = (id: string | undefined, _: unknown, onCleanup: (end: () => void) => void): void => {
    state.value = nothingYet
    if (id === undefined) return
    const stop = new AbortController()
    onCleanup(() => stop.abort())
    void followView(client, id, new ViewFold(), stop.signal, update => {
      state.value = update(state.value)
      if (tools && state.value.view) runPageTools(state.value.view, tools, begun, submit)
    })
  }
  const start = (): void => void watch(() => toValue(sessionId), follow, { immediate: true })
  if (getCurrentInstance()) onMounted(start)
  else start()

  return {
    view: computed(() => state.value.view),
    connection: computed(() => state.value.connection),
    error: computed(() => state.value.error),
    approvals: computed(() => waitingForPerson(state.value.view)),
    ...actions,
  }
}
