// The playground: talk to an agent with no key, watch a call stream, approve one, run a tool in this page, change the model.
// The session is in the address, so a reload continues it.
import { type ReactElement, useCallback, useMemo, useRef, useState } from 'react'
import { type During, type OperatorAgent, textOfContent } from '../../../../src/client/index.ts'
import { type CallView, Composer, describeActivity } from '../../../../src/react/index.ts'
import { useClientTools } from '../../../../src/react/use-session.ts'
import { AnswerForm } from '../../lib/answer-form.tsx'
import { useAttempt } from '../../lib/attempt.tsx'
import { operator, useConsole } from '../../lib/console-state.tsx'
import { Conversation } from '../../lib/conversation.tsx'
import { type LiveSession, useLiveSession } from '../../lib/live-session.ts'
import { Empty, Loading, State } from '../../lib/parts.tsx'
import { type Address, Link, navigate, useAddress, withQuery } from '../../lib/router.tsx'
import { Manual } from '../session/manual.tsx'
import { fixedAnswer, keepTools, type PageTool, readTools } from './page-tools.ts'
import { playScript, readScript } from './script.ts'
import { Setup } from './setup.tsx'
import { Welcome } from './welcome.tsx'

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
            <Link to="/system" className="link">
              System
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
  const session = useLiveSession(id)
  // An open session keeps its agent. The agent in the address is for the next session.
  const agent = catalogue?.agents.find(each => each.name === session.view?.agent) ?? props.agent
  const [tools, setTools] = useState(readTools)
  const [script, setScript] = useScript()
  const talk = useTalk({ id, agent, model, tools, script, address, onPlaying })
  usePageTools(session, tools)
  const { view } = session
  return (
    <div className="playground">
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
      <section className="talk" aria-label="Conversation">
        <TalkHead id={id} session={session} address={address} />
        {id === undefined ? (
          <Welcome agent={agent} tools={tools} onTry={text => void talk.send(text)} />
        ) : (
          <Conversation
            session={session}
            renderClientCall={call => <PersonAnswer call={call} tools={tools} session={session} />}
          />
        )}
        {talk.problem}
        {view && playing !== id && <Manual session={session} view={view} />}
        <Composer
          onSend={talk.send}
          onStop={() => session.command({ do: 'cancel' })}
          isActive={view?.active ?? false}
          messages={view?.messages}
          onWithdraw={message => session.command({ do: 'withdraw', message })}
          label={`Say something to ${agent.title ?? agent.name}`}
        />
      </section>
    </div>
  )
}

type TalkHeadProps = { id: string | undefined; session: LiveSession; address: Address }

function TalkHead({ id, session: { view }, address }: TalkHeadProps): ReactElement {
  const activity = view && describeActivity(view)
  return (
    <header className="talk-head">
      <h1>Playground</h1>
      {activity && <State kind={activity.activity} words={activity.words} />}
      <span className="spacer" />
      {id !== undefined && (
        <>
          <Link to={`/sessions/${id}`} className="link">
            Open<span className="wide-only"> the session</span>
          </Link>
          <Link to={withQuery(address, { session: undefined })} className="link">
            New
          </Link>
        </>
      )}
    </header>
  )
}

function PersonAnswer(props: {
  call: CallView
  tools: readonly PageTool[]
  session: LiveSession
}): ReactElement | null {
  const { call, tools, session } = props
  if (tools.find(tool => tool.name === call.name)?.answer !== 'person') return null
  return (
    <AnswerForm
      label="This tool runs in this page. What does it answer?"
      button="Send the result"
      mayBeEmpty
      onAnswer={text => session.command({ do: 'result', callId: call.id, text })}
    />
  )
}

type TalkInput = Pick<TalkProps, 'onPlaying'> & {
  id: string | undefined
  agent: OperatorAgent
  model: string | undefined
  tools: readonly PageTool[]
  script: string | undefined
  address: Address
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
      const { id, agent, model, tools, script, address, onPlaying } = latest.current
      const answers = script === undefined ? undefined : readScript(script)
      const session = id ?? (await createFor(agent, model, tools))
      if (id === undefined) navigate(withQuery(address, { session, new: undefined }), { replace: true })
      if (!answers) {
        await operator.command(session, { do: 'say', text, ...(during && { during }) })
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
