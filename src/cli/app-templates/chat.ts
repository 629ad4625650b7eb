// What both applications share: the conversation as a component, and its look. The parts are those of the console.

/** A browser asks for one, and an application without it has a failed request on its first page. */
export const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Ccircle cx='4' cy='4' r='3' fill='%233451c6'/%3E%3C/svg%3E"

export const chat = `'use client'
// One conversation: the transcript, the calls that wait for you, the field for the next message, and what went wrong.
import { type ReactNode, useState } from 'react'
import type { AapClient } from 'turnwire/client'
import { Approval, type ApprovalAnswer, type CallView, Composer, Transcript, useSession } from 'turnwire/react'

/** Tools that run in this page. The model may call them like any other. */
export const pageTools = { page_title: () => document.title }
export const declaredTools = [
  {
    name: 'page_title',
    description: 'The title of the page that the user looks at.',
    parameters: { type: 'object', properties: {} },
  },
]

/** What tools are called when a person is asked about them. */
const toolTitles: Record<string, string> = { cancel_order: 'Cancel an order' }

/** Shown while nothing was said. */
const examples = ['Where is my order 7?', 'Cancel order 7', 'What is the title of this page?']

const states = { connecting: 'Connecting …', live: 'Connected', broken: 'Not connected' }

type ChatProps = { client: AapClient; session: string; title: string; onNewSession: () => void }

export function Chat({ client, session, title, onNewSession }: ChatProps) {
  const { view, connection, error, ...actions } = useSession(client, session, { tools: pageTools })
  const isEmpty = !view || view.items.length === 0
  return (
    <main>
      <header>
        <h1>{title}</h1>
        <span className={'connection ' + connection} role="status">
          {states[connection]}
        </span>
        <button type="button" className="tw-button" onClick={onNewSession}>
          New session
        </button>
      </header>
      <Transcript
        items={view?.items ?? []}
        userName="You"
        modelName={title}
        empty={error ? <Unopened words={error.message} onNewSession={onNewSession} /> : view && <Welcome send={actions.send} />}
        onAnswer={(_call, question, answer) => actions.answer(question, answer)}
        renderApproval={call => <Asked call={call} onAnswer={answer => actions.decide(call.id, answer)} />}
      />
      <footer>
        {error && !isEmpty && <Complaint words={error.message} />}
        <Composer
          onSend={actions.send}
          onStop={actions.cancel}
          onWithdraw={actions.withdraw}
          isActive={view?.active ?? false}
          messages={view?.messages}
          connection={connection}
        />
      </footer>
    </main>
  )
}

type AskedProps = { call: CallView; onAnswer: (answer: ApprovalAnswer) => Promise<void> }

function Asked({ call, onAnswer }: AskedProps) {
  const question = {
    callId: call.id,
    tool: { name: call.name, title: toolTitles[call.name] },
    form: call.form,
    text: call.text,
    argsHash: call.argsHash ?? '',
    rule: call.approval?.rule ?? '',
    reason: call.approval?.reason,
    askedAt: call.approval?.at ?? Date.now(),
  }
  return <Approval question={question} scopes={[]} onAnswer={onAnswer} />
}

function Welcome({ send }: { send: (text: string) => Promise<void> }) {
  const [problem, setProblem] = useState('')
  const say = (words: string) => send(words).catch((cause: Error) => setProblem(cause.message))
  return (
    <Notice title="How can I help?">
      <p>Ask about an order, or try one of these. The agent asks you before it does what cannot be undone.</p>
      <p className="examples">
        {examples.map(example => (
          <button type="button" className="tw-button" key={example} onClick={() => void say(example)}>
            {example}
          </button>
        ))}
      </p>
      {problem && <Complaint words={problem} />}
    </Notice>
  )
}

function Unopened({ words, onNewSession }: { words: string; onNewSession: () => void }) {
  return (
    <Notice title="This conversation cannot be opened">
      <Complaint words={words} />
      <button type="button" className="tw-button tw-primary" onClick={onNewSession}>
        Start a new one
      </button>
    </Notice>
  )
}

/** Stands in the middle while there is no conversation. */
export function Notice({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="notice">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function Complaint({ words }: { words: string }) {
  return (
    <p className="complaint" role="alert">
      {words}
    </p>
  )
}
`

/** The typeface of the console. */
export const font = { '@fontsource-variable/inter': '^5.0.0' }

/** The session of a page: it is in the address, so a reload continues it. */
export const session = `'use client'
// Makes the session of this page, or takes the one in its address.
import { useCallback, useEffect, useState } from 'react'
import { AapClient } from 'turnwire/client'
import { Chat, Complaint, declaredTools, Notice } from './chat'

/** Tools of the server that this page lets run without a question. A rule of turnwire.config.ts may still ask. */
const trusted = ['look_up_order']

async function newSession(client: AapClient, agent: string): Promise<string> {
  const { agents } = await client.getMeta()
  const offered = agents.find(each => each.name === agent)?.tools ?? []
  const tools = offered.map(({ name }) => ({ name, trust: trusted.includes(name) }))
  const id = await client.createSession({ agent: { name: agent, tools }, tools: declaredTools })
  history.replaceState(null, '', '?session=' + id)
  return id
}

export function App({ agent, title }: { agent: string; title: string }) {
  const [client, setClient] = useState<AapClient>()
  const [id, setId] = useState<string>()
  const [problem, setProblem] = useState('')
  const begin = useCallback(
    (of: AapClient) => {
      setProblem('')
      newSession(of, agent).then(setId, (cause: Error) => setProblem(cause.message))
    },
    [agent],
  )
  useEffect(() => {
    const made = new AapClient({ baseUrl: location.origin + '/aap/v3' })
    setClient(made)
    const known = new URLSearchParams(location.search).get('session')
    if (known) {
      setId(known)
      return
    }
    // While developing, React runs an effect twice: the first makes no session.
    const timer = setTimeout(() => begin(made))
    return () => clearTimeout(timer)
  }, [begin])
  if (client && id) return <Chat client={client} session={id} title={title} onNewSession={() => begin(client)} />
  if (!client || !problem) return <p className="connecting">Connecting …</p>
  return (
    <main>
      <Notice title="The agent does not answer">
        <Complaint words={problem} />
        <button type="button" className="tw-button tw-primary" onClick={() => begin(client)}>
          Try again
        </button>
      </Notice>
    </main>
  )
}
`

export const style = `:root {
  color-scheme: light dark;
  --tw-font: "Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  /* Text stands in a column in the middle; lists scroll at the edge of the window. */
  --side: max(16px, calc(50vw - 380px));
}
* {
  box-sizing: border-box;
}
body {
  margin: 0;
  font: 15px / 22px var(--tw-font);
  color: var(--tw-text);
  background: var(--tw-bg);
}
main {
  display: flex;
  flex-direction: column;
  height: 100dvh;
}
main > header {
  display: flex;
  align-items: center;
  gap: 16px;
  padding: 10px var(--side);
  border-bottom: 1px solid var(--tw-border);
}
main > header h1 {
  flex: 1;
  min-width: 0;
  margin: 0;
  font-size: 16px;
  font-weight: 600;
  overflow: hidden;
  text-overflow: ellipsis;
  white-space: nowrap;
}
main > footer {
  padding: 0 var(--side) env(safe-area-inset-bottom);
}
.connection {
  color: var(--tw-muted);
  font-size: 12px;
  white-space: nowrap;
}
.connection::before {
  content: "";
  display: inline-block;
  width: 8px;
  height: 8px;
  margin-right: 6px;
  border-radius: 50%;
  background: var(--tw-waiting);
}
.connection.live::before {
  background: var(--tw-ok);
}
.connection.broken::before {
  background: var(--tw-bad);
}
.connecting {
  padding: 16px var(--side);
  color: var(--tw-muted);
}
.notice {
  display: grid;
  justify-items: center;
  align-content: center;
  gap: 12px;
  min-height: calc(100% - 16px);
  padding: 24px 0;
  text-align: center;
}
main > .notice {
  flex: 1;
  padding-inline: var(--side);
}
.notice h2 {
  margin: 0;
  font-size: 20px;
  line-height: 28px;
  font-weight: 600;
}
.notice p {
  margin: 0;
  max-width: 48ch;
  color: var(--tw-muted);
  text-wrap: balance;
}
.notice .examples {
  display: flex;
  flex-wrap: wrap;
  justify-content: center;
  gap: 8px;
  max-width: none;
}
.examples .tw-button {
  padding: 6px 14px;
  font-size: 14px;
  border-radius: 18px;
}
.complaint,
.notice .complaint {
  margin: 8px 0 0;
  padding: 8px 12px;
  color: var(--tw-bad);
  background: color-mix(in srgb, var(--tw-bad) 6%, var(--tw-bg));
  border-radius: 6px;
}
.notice .complaint {
  margin: 0;
}
/* The parts of turnwire/react, with the measures of this page. */
.tw-transcript .tw-scroll {
  padding: 8px var(--side);
}
.tw-item {
  margin: 10px 0;
}
.tw-prose,
.tw-user .tw-text,
.tw-composer textarea {
  font-size: 15px;
  line-height: 22px;
}
@media (max-width: 700px) {
  /* Phones enlarge the page for a field with smaller letters. */
  .tw-composer textarea {
    font-size: 16px;
    line-height: 22px;
  }
  .examples .tw-button {
    width: 100%;
  }
}
`

/** Starts `turnwire dev` on a free port, which it keeps, and gives its address; ends it with this process. */
export const serveAgent = `import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const turnwire = dirname(createRequire(import.meta.url).resolve('turnwire/package.json'))
// It starts again when turnwire.config.ts changes.
const dev = [join(turnwire, 'bin/turnwire.mjs'), 'dev', '--no-open', '--port', '0']
const server = spawn(process.execPath, dev, { stdio: ['ignore', 'pipe', 'inherit'] })
server.on('exit', code => process.exit(code ?? 1))
process.on('exit', () => server.kill())
// A signal ends a process without its 'exit', unless somebody listens.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit())

const target = await new Promise(resolve => {
  let text = ''
  server.stdout.setEncoding('utf8').on('data', piece => {
    text += piece
    const url = /listens on (http:\\S+)/.exec(text)?.[1]
    if (url) resolve(url)
  })
})
`
