// The state that all pages share: who is signed in, the agents, the calls that wait, and one stream of changes.
import {
  createContext,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import {
  AapError,
  type OperatorAgent,
  type OperatorAgents,
  OperatorClient,
  type OperatorMe,
  type SessionChanged,
} from '../../../src/client/index.ts'
import { isModelPattern } from '../../../src/language/model-names.ts'
import type { SessionConnection, ToolLook, UsedApprovals } from '../../../src/react/index.ts'
import { useApprovals, useChanges } from '../../../src/react/use-lists.ts'
import { type Held, type HeldDecisions, useHeldDecisions } from './held-decisions.ts'
import { serverUrl } from './mount-path.ts'
import { signInSecret } from './sign-in-secret.ts'

/** A tool of an agent, as the server describes it. */
export type OperatorTool = OperatorAgent['tools'][number]

export const operator = new OperatorClient({ baseUrl: serverUrl, secret: signInSecret })

export type ConsoleState = {
  me: OperatorMe
  /** The page goes on as someone else. */
  onSignedIn: (me: OperatorMe) => void
  catalogue: OperatorAgents | undefined
  /** The names of models that can be chosen. */
  models: readonly string[]
  /** By name. A name that several agents have stands for the first. */
  tools: ReadonlyMap<string, OperatorTool>
  looks: ReadonlyMap<string, ToolLook>
  /** Those that wait for a decision. One that is decided here and can be taken back is not among them. */
  approvals: UsedApprovals
  decisions: HeldDecisions
  connection: SessionConnection
  /** Called for each change of a session, and whenever the stream has opened. */
  onChange: (listener: (change: SessionChanged) => void) => () => void
  reloadCatalogue: () => void
}

const Context = createContext<ConsoleState | undefined>(undefined)

export function useConsole(): ConsoleState {
  const state = useContext(Context)
  if (!state) throw new Error('There is no ConsoleProvider around this part.')
  return state
}

/** Undefined: nobody is signed in. */
export function useConnection(): SessionConnection | undefined {
  return useContext(Context)?.connection
}

type ProviderProps = {
  me: OperatorMe
  onSignedIn: (me: OperatorMe) => void
  /** The cookie is not good any more: its key was revoked, or its time is over. */
  onSignedOut: () => void
  children: ReactNode
}

export function ConsoleProvider(props: ProviderProps): ReactElement {
  const { me, onSignedIn, onSignedOut, children } = props
  const [catalogue, setCatalogue] = useState<OperatorAgents>()
  const used = useApprovals(operator)
  const decisions = useHeldDecisions(used.decide)
  const { held } = decisions
  const approvals = useMemo(() => withoutHeld(used, held), [used, held])
  const listeners = useRef(new Set<(change: SessionChanged) => void>())
  const reloadCatalogue = useCallback(() => {
    operator.agents().then(setCatalogue, () => {})
  }, [])
  useEffect(reloadCatalogue, [reloadCatalogue])
  const connection = useChanges(operator, change => {
    if (change.type === 'open') reloadCatalogue()
    if (change.type !== 'session' || change.session.status !== 'running') approvals.refresh()
    for (const listener of listeners.current) listener(change)
  })
  useEffect(() => {
    if (connection !== 'broken') return
    operator.me().catch((error: unknown) => {
      if (error instanceof AapError && error.status === 401) onSignedOut()
    })
  }, [connection, onSignedOut])
  const onChange = useCallback((listener: (change: SessionChanged) => void) => {
    listeners.current.add(listener)
    return () => void listeners.current.delete(listener)
  }, [])
  const { tools, looks } = useMemo(() => collectTools(catalogue), [catalogue])
  const models = useMemo(
    () => Object.keys(catalogue?.models ?? {}).filter(name => !isModelPattern(name)),
    [catalogue],
  )
  const read = { catalogue, models, tools, looks, approvals, connection, decisions }
  const state = { me, onSignedIn, onChange, reloadCatalogue, ...read }
  return <Context.Provider value={state}>{children}</Context.Provider>
}

function withoutHeld(used: UsedApprovals, held: readonly Held[]): UsedApprovals {
  const ids = new Set(held.map(each => each.approval.callId))
  return ids.size === 0 ? used : { ...used, approvals: used.approvals.filter(each => !ids.has(each.callId)) }
}

function collectTools(catalogue: OperatorAgents | undefined): Pick<ConsoleState, 'tools' | 'looks'> {
  const tools = new Map<string, OperatorTool>()
  for (const agent of catalogue?.agents ?? [])
    for (const tool of agent.tools) if (!tools.has(tool.name)) tools.set(tool.name, tool)
  return { tools, looks: new Map(toolLooks([...tools.values()])) }
}

export function toolLooks(tools: readonly OperatorTool[]): [string, ToolLook][] {
  return tools.map(({ name, kind, title }) => [name, { kind, ...(title !== undefined && { title }) }])
}
