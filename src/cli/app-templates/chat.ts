// What both applications share: the conversation as a component, and its look. The parts are those of the console.

/** A browser asks for one, and an application without it has a failed request on its first page. */
export const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Ccircle cx='4' cy='4' r='3' fill='%233451c6'/%3E%3C/svg%3E"

export const chat = `'use client'
// One conversation: the transcript, the calls that wait for you, and what went wrong.
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import type { AapClient } from 'turnwire/client'
import { Approval, type ApprovalAnswer, type CallView, Transcript, useSession } from 'turnwire/react'

/** Tools that run in this page. The model may call them like any other. */
export const pageTools = { page_title: () => document.title }
export const declaredTools = [
  {
    name: 'page_title',
    description: 'The title of the page that the user looks at.',
    parameters: { type: 'object', properties: {} },
  },
]

/** Shown while nothing was said. */
const examples = ['Where is my order 7?', 'Cancel order 7']

const states = { connecting: 'Connecting …', live: 'Connected', broken: 'Not connected' }

type ChatProps = { client: AapClient; session: string; title: string; onNewSession: () => void }

export function Chat({ client, session, title, onNewSession }: ChatProps) {
  const { view, connection, error, send, decide, cancel } = useSession(client, session, { tools: pageTools })
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
        empty={<p className="empty">Nothing was said yet.</p>}
        renderApproval={call => <Asked call={call} onAnswer={answer => decide(call.id, answer)} />}
      />
      {error && <Complaint words={error.message} />}
      <Composer session={session} send={send} examples={view?.items.length === 0 ? examples : []}>
        {view?.active && (
          <button type="button" className="tw-button" onClick={() => void cancel()}>
            Stop
          </button>
        )}
      </Composer>
    </main>
  )
}

type AskedProps = { call: CallView; onAnswer: (answer: ApprovalAnswer) => Promise<void> }

function Asked({ call, onAnswer }: AskedProps) {
  const question = {
    callId: call.id,
    tool: { name: call.name },
    form: call.form,
    text: call.text,
    argsHash: call.argsHash ?? '',
    rule: call.approval?.rule ?? '',
    reason: call.approval?.reason,
    askedAt: call.approval?.at ?? Date.now(),
  }
  return <Approval question={question} scopes={[]} onAnswer={onAnswer} />
}

function Complaint({ words }: { words: string }) {
  return (
    <p className="complaint" role="alert">
      {words}
    </p>
  )
}

type ComposerProps = {
  session: string
  send: (text: string) => Promise<void>
  examples: readonly string[]
  children: ReactNode
}

function Composer({ session, send, examples, children }: ComposerProps) {
  const [text, setText] = useState('')
  const [problem, setProblem] = useState('')
  useEffect(() => setProblem(''), [session])

  async function say(words: string) {
    if (words.trim() === '') return
    setProblem('')
    try {
      await send(words)
      setText('') // only now: what was typed is kept if it could not be sent
    } catch (cause) {
      setProblem(cause instanceof Error ? cause.message : String(cause))
    }
  }

  function submit(event: FormEvent) {
    event.preventDefault()
    void say(text)
  }

  return (
    <>
      {problem && <Complaint words={problem} />}
      {examples.length > 0 && (
        <p className="examples">
          {examples.map(example => (
            <button type="button" className="tw-button" key={example} onClick={() => void say(example)}>
              {example}
            </button>
          ))}
        </p>
      )}
      <form onSubmit={submit}>
        <input
          aria-label="Message"
          className="tw-input"
          placeholder="Message"
          value={text}
          onChange={event => setText(event.target.value)}
        />
        <button className="tw-button tw-primary">Send</button>
        {children}
      </form>
    </>
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
import { Chat, declaredTools } from './chat'

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

export function App({ agent }: { agent: string }) {
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
  if (client && id) return <Chat client={client} session={id} title={agent} onNewSession={() => begin(client)} />
  return (
    <main>
      <p className="empty">{problem || 'Connecting …'}</p>
      {problem && client && (
        <button type="button" className="tw-button" onClick={() => begin(client)}>
          Try again
        </button>
      )}
    </main>
  )
}
`

export const style = `:root {
  color-scheme: light dark;
  --tw-font: "Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
* {
  box-sizing: border-box;
}
body {
  margin: 0;
  font: 14px / 20px var(--tw-font);
  color: var(--tw-text);
  background: var(--tw-bg);
}
main {
  display: flex;
  flex-direction: column;
  height: 100dvh;
  max-width: 820px;
  margin: 0 auto;
  padding: 0 16px;
}
main > header {
  display: flex;
  align-items: center;
  gap: 12px;
  padding: 12px 0;
  border-bottom: 1px solid var(--tw-border);
}
main > header h1 {
  flex: 1;
  margin: 0;
  font-size: 16px;
  font-weight: 600;
}
.connection {
  color: var(--tw-muted);
  font-size: 13px;
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
.empty {
  padding: 24px 0;
  color: var(--tw-muted);
}
.examples {
  display: flex;
  flex-wrap: wrap;
  gap: 8px;
  margin: 0;
}
.complaint {
  margin: 8px 0 0;
  padding: 8px 12px;
  color: var(--tw-bad);
  border: 1px solid var(--tw-bad);
  border-radius: 8px;
}
main > form {
  display: flex;
  gap: 8px;
  padding: 12px 0 16px;
}
main > form .tw-input {
  flex: 1;
  min-width: 0;
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
