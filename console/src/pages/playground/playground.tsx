// The playground: talk to an agent with no key, watch a call stream, approve one, run a tool in this page, change the model.
// The session is in the address, so a reload continues it.
import { lazy, type ReactElement, Suspense, useCallback, useMemo, useRef, useState } from 'react'
import { type During, type OperatorAgent, textOfContent } from '../../../../src/client/index.ts'
import { ActionIcon } from '../../../../src/react/icons.tsx'
import { Composer, CopyButton, describeActivity } from '../../../../src/react/index.ts'
import { useClientTools } from '../../../../src/react/use-session.ts'
import { Dialog } from '../../frame/dialog.tsx'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { type LiveSession, useLiveSession } from '../../lib/live-session.ts'
import { Menu } from '../../lib/menu.tsx'
import { serverUrl } from '../../lib/mount-path.ts'
import { useNarrow } from '../../lib/narrow.ts'
import { Empty, Loading, State } from '../../lib/parts.tsx'
import { type Address, currentAddress, Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { saveEvalCase } from '../../lib/save-eval-case.ts'
import { fixedAnswer, keepTools, type PageTool, readTools } from './page-tools.ts'
import { describeWork, RivalChoice } from './rival.tsx'
import { playScript, readScript } from './script.ts'
import { Setup } from './setup.tsx'
import { Welcome } from './welcome.tsx'

// The first page of a newcomer is there before what a conversation needs.
const Talks = lazy(() => import('./talks.tsx'))
const Manual = lazy(() => import('../session/manual.tsx'))

export default function Playground(): ReactElement {
  const address = useAddress()
  const { catalogue, me } = useConsole()
  const agent = findAgent(catalogue?.agents, address.query.get('agent'))
  const [playing, setPlaying] = useState<string>()
  if (!catalogue) return <Loading what="the agents" />
  if (!agent)
    return (
      <Empty title="There is no agent yet">
        {me.features.includes('relay') ? (
          <p>
            This server is a relay without agents of its own. Attached ones are on the page{' '}
            <Link to="/overview" className="link">
              Overview
            </Link>
            .
          </p>
        ) : (
          <p>Name one in turnwire.config.ts, then start the server again.</p>
        )}
      </Empty>
    )
  return (
    <Talk
      key={address.query.get('session') ?? 'new'}
      agent={agent}
      address={address}
      playing={playing}
      onPlaying={setPlaying}
    />
  )
}

function findAgent(
  agents: readonly OperatorAgent[] | undefined,
  name: string | null,
): OperatorAgent | undefined {
  return agents?.find(agent => agent.name === name) ?? agents?.[0]
}

type TalkProps = {
  agent: OperatorAgent
  address: Address
  /** The session whose model this page plays by a script. After a reload nobody does, and it waits under manual control. */
  playing: string | undefined
  onPlaying: (session: string | undefined) => void
}

function Talk(props: TalkProps): ReactElement {
  const { address, playing, onPlaying } = props
  const { catalogue } = useConsole()
  const id = address.query.get('session') ?? undefined
  const model = address.query.get('model') ?? undefined
  const rival = address.query.get('rival') ?? undefined
  const session = useLiveSession(id)
  const other = useLiveSession(address.query.get('rivalSession') ?? undefined)
  // An open session keeps its agent. The agent in the address is for the next session.
  const agent = catalogue?.agents.find(each => each.name === session.view?.agent) ?? props.agent
  const [tools, setTools] = useState(readTools)
  const [script, setScript] = useScript()
  const talk = useTalk({ id, agent, model, rival, tools, script, onPlaying })
  usePageTools(session, tools)
  usePageTools(other, tools)
  const { view } = session
  const own = model ?? agent.model?.name ?? agent.model?.id ?? 'the agent’s model'
  const setup = (
    <Setup
      agent={agent}
      model={model}
      session={session}
      tools={tools}
      onTools={next => {
        keepTools(next)
        setTools(next)
      }}
      script={script}
      onScript={setScript}
    />
  )
  return (
    <div className="playground">
      <Sheet>{setup}</Sheet>
      <section className="talk" aria-label="Conversation">
        <TalkHead id={id} session={session} address={address} own={own} setup={setup} />
        {id === undefined ? (
          <Welcome agent={agent} tools={tools} onTry={text => void talk.send(text)} />
        ) : (
          <Suspense fallback={<Loading what="the conversation" />}>
            <Talks sides={{ own, session, rival, other }} tools={tools} />
          </Suspense>
        )}
        {talk.problem}
        <Suspense>
          {view?.controlledBy !== undefined && playing !== id && <Manual session={session} view={view} />}
        </Suspense>
        <Composer
          onSend={talk.send}
          onStop={() => session.command({ do: 'cancel' })}
          isActive={view?.active ?? false}
          messages={view?.messages}
          connection={session.connection}
          onWithdraw={message => session.command({ do: 'withdraw', message })}
          label={`Say something to ${rival === undefined ? (agent.title ?? agent.name) : 'both models'}`}
        />
      </section>
    </div>
  )
}

/** Beside the conversation; on a phone a button opens it. */
function Sheet({ children }: { children: ReactElement }): ReactElement | null {
  return useNarrow() ? null : children
}

function SheetButton({ children }: { children: ReactElement }): ReactElement | null {
  const [isOpen, setOpen] = useState(false)
  if (!useNarrow()) return null
  return (
    <>
      <button
        type="button"
        className="tw-button tw-icon"
        aria-label="Settings"
        title="Settings"
        onClick={() => setOpen(true)}
      >
        <ActionIcon name="settings" />
      </button>
      {isOpen && (
        <Dialog label="Settings" className="sheet" onClose={() => setOpen(false)}>
          {children}
          <button type="button" className="tw-button tw-primary" onClick={() => setOpen(false)}>
            Done
          </button>
        </Dialog>
      )}
    </>
  )
}

type TalkHeadProps = {
  id: string | undefined
  session: LiveSession
  address: Address
  own: string
  setup: ReactElement
}

function TalkHead({ id, session: { view }, address, own, setup }: TalkHeadProps): ReactElement {
  const activity = view && describeActivity(view)
  const isAlone = address.query.get('rival') === null
  return (
    <header className="talk-head">
      <h1>Playground</h1>
      {activity && <State kind={activity.activity} words={activity.words} />}
      {view && isAlone && <span className="tw-muted talk-work wide-only">{describeWork(view)}</span>}
      <span className="spacer" />
      <RivalChoice address={address} own={own} />
      {id !== undefined && (
        <>
          <Link
            to={withQuery(address, { session: undefined, rivalSession: undefined })}
            className="tw-button"
          >
            New
          </Link>
          <Link to={`/sessions/${id}`} className="tw-button">
            Open<span className="wide-only">{'\u00a0'}the session</span>
          </Link>
          <Share id={id} />
        </>
      )}
      <SheetButton>{setup}</SheetButton>
    </header>
  )
}

/** What can be made of the conversation. */
function Share({ id }: { id: string }): ReactElement {
  const { attempt, problem } = useAttempt()
  return (
    <>
      <Menu label="More">
        <CopyButton text={() => `${serverUrl}/sessions/${id}`} label="Copy a link for another operator" />
        <Link to={`/sessions/${id}?fork=2`} className="tw-button tw-small">
          Try it with a change…
        </Link>
        <button type="button" className="tw-button tw-small" onClick={() => attempt(saveEvalCase(id))}>
          Make an eval case
        </button>
      </Menu>
      {problem}
    </>
  )
}

type TalkInput = Pick<TalkProps, 'onPlaying'> & {
  id: string | undefined
  agent: OperatorAgent
  model: string | undefined
  /** The model of the second session, which is told the same. */
  rival: string | undefined
  tools: readonly PageTool[]
  script: string | undefined
}

const scriptKey = 'turnwire-script'

/** The script of this tab. A reload keeps it; another visit begins without one. */
function useScript(): [string | undefined, (script: string | undefined) => void] {
  const [script, setScript] = useState(() => sessionStorage.getItem(scriptKey) ?? undefined)
  const keep = (next: string | undefined): void => {
    if (next === undefined) sessionStorage.removeItem(scriptKey)
    else sessionStorage.setItem(scriptKey, next)
    setScript(next)
  }
  return [script, keep]
}

/** Says something: makes the session first if there is none, and plays the script if there is one. */
type Talking = {
  send: (text: string, during?: During) => Promise<void>
  problem: ReactElement
}

function useTalk(input: TalkInput): Talking {
  const { attempt, problem } = useAttempt()
  const latest = useRef(input)
  latest.current = input
  const send = useCallback(
    async (text: string, during?: During) => {
      const { id, agent, model, rival, tools, script, onPlaying } = latest.current
      const answers = script === undefined ? undefined : readScript(script)
      const session = id ?? (await createFor(agent, model, tools))
      const others = rival === undefined ? [] : [await findRival(agent, rival, tools)]
      const both = { session, rivalSession: others[0], new: undefined }
      if (id === undefined) navigate(withQuery(currentAddress(), both), { replace: true })
      if (!answers) {
        const say = { do: 'say', text, ...(during && { during }) } as const
        await Promise.all([session, ...others].map(each => operator.command(each, say)))
        return
      }
      const changed = (): Promise<void> => new Promise(resolve => void setTimeout(resolve, 300))
      const played = { session: () => operator.session(session), command: operatorCommand(session), changed }
      onPlaying(session)
      attempt(playScript(played, answers, text).finally(() => onPlaying(undefined)))
    },
    [attempt],
  )
  return { send, problem }
}

function operatorCommand(session: string): Parameters<typeof playScript>[0]['command'] {
  return command => operator.command(session, command)
}

/** The second session of the address, or a new one. */
async function findRival(agent: OperatorAgent, model: string, tools: readonly PageTool[]): Promise<string> {
  return currentAddress().query.get('rivalSession') ?? createFor(agent, model, tools)
}

async function createFor(
  agent: OperatorAgent,
  model: string | undefined,
  tools: readonly PageTool[],
): Promise<string> {
  const declared = tools.map(({ name, description, parameters }) => ({ name, description, parameters }))
  const { id } = await operator.create({
    agent: agent.name,
    ...(model !== undefined && { model }),
    tools: declared,
  })
  return id
}

/** Runs the calls of tools that this page answers by itself, in one tab. */
function usePageTools(session: LiveSession, tools: readonly PageTool[]): void {
  const { command, view } = session
  const runners = useMemo(
    () =>
      Object.fromEntries(
        tools
          .filter(tool => tool.answer !== 'person')
          .map(tool => [tool.name, () => fixedAnswer(tool) ?? '']),
      ),
    [tools],
  )
  useClientTools(view, runners, ({ toolCallId, content }) =>
    command({ do: 'result', callId: toolCallId, text: textOfContent(content) }),
  )
}
