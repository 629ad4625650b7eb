// The React application that `turnwire init --app react` writes beside the configuration: one page that talks to the agent,
// shows its calls and asks for approvals, and a program that starts the server and the page together.

/** By path in the folder. */
export function reactApp(agent: string): Readonly<Record<string, string>> {
  return {
    'index.html': page,
    'start.mjs': start,
    'src/main.tsx': main.replace('__AGENT__', JSON.stringify(agent)),
    'src/style.css': style,
  }
}

type Manifest = { type?: string; scripts?: Record<string, string>; dependencies?: Record<string, string> }

/** Adds the application's needs to its package.json. Existing members stay. `turnwire`: where npm gets it. */
export function withReactApp(manifest: Manifest, turnwire: string): Manifest {
  return {
    ...manifest,
    type: 'module',
    scripts: { ...manifest.scripts, start: 'npm install --no-audit --no-fund && node start.mjs' },
    dependencies: {
      turnwire,
      react: '^19.0.0',
      'react-dom': '^19.0.0',
      vite: '^8.0.0',
      ...manifest.dependencies,
    },
  }
}

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>My agent</title>
    <script type="module" src="/src/main.tsx"></script>
  </head>
  <body>
    <div id="root"></div>
  </body>
</html>
`

const start = `// Starts the Turnwire server and the page, on ports that are free, and stops both with Ctrl-C.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createServer } from 'vite'

const turnwire = dirname(createRequire(import.meta.url).resolve('turnwire/package.json'))
const server = spawn(process.execPath, [join(turnwire, 'bin/turnwire.mjs'), 'serve', '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
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

const vite = await createServer({
  // One React, also where turnwire is a linked checkout with a React of its own.
  resolve: { dedupe: ['react', 'react-dom'] },
  server: {
    proxy: {
      // The page and the agent have one origin, so no other origin has to be allowed.
      '/aap': {
        target,
        changeOrigin: true,
        configure: proxy => proxy.on('proxyReq', request => request.removeHeader('origin')),
      },
    },
  },
})
await vite.listen()
console.log('\\n  agent   ' + target + '   (open it in a browser: the console)')
vite.printUrls()
`

const main = `// The whole application: a session with the agent, its transcript, and the calls that wait for you.
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { AapClient } from 'turnwire/client'
import { Approval, Transcript, useSession } from 'turnwire/react'
import 'turnwire/react/style.css'
import './style.css'

const client = new AapClient({ baseUrl: location.origin + '/aap/v3' })
const agent = __AGENT__

/** Tools that run in this page. The model may call them like any other. */
const tools = { page_title: () => document.title }
const declared = [
  { name: 'page_title', description: 'The title of the page that the user looks at.', parameters: { type: 'object', properties: {} } },
]

/** Tools of the server that this page lets run without a question. A rule of turnwire.config.ts may still ask. */
const trusted = ['look_up_order']

/** The session is in the address, so a reload continues it. */
async function sessionOf() {
  const known = new URLSearchParams(location.search).get('session')
  if (known) return known
  const { agents } = await client.getMeta()
  const offered = agents.find(each => each.name === agent)?.tools ?? []
  const on = offered.map(({ name }) => ({ name, trust: trusted.includes(name) }))
  const id = await client.createSession({ agent: { name: agent, tools: on }, tools: declared })
  history.replaceState(null, '', '?session=' + id)
  return id
}

function App({ id }: { id: string }) {
  const { view, send, decide, cancel } = useSession(client, id, { tools })
  const [text, setText] = useState('')
  return (
    <main>
      <h1>{agent}</h1>
      <Transcript
        items={view?.items ?? []}
        empty={<p>Ask for something, such as: What is the state of order 7?</p>}
        renderApproval={call => (
          <Approval
            question={{
              callId: call.id,
              tool: { name: call.name },
              form: call.form,
              text: call.text,
              argsHash: call.argsHash ?? '',
              rule: call.approval?.rule ?? '',
              reason: call.approval?.reason,
              askedAt: call.approval?.at ?? Date.now(),
            }}
            scopes={[]}
            onAnswer={answer => decide(call.id, answer)}
          />
        )}
      />
      <form
        onSubmit={event => {
          event.preventDefault()
          void send(text)
          setText('')
        }}
      >
        <input aria-label="Message" className="tw-input" value={text} onChange={event => setText(event.target.value)} />
        <button className="tw-button tw-primary">Send</button>
        {view?.active && (
          <button type="button" className="tw-button" onClick={() => void cancel()}>
            Stop
          </button>
        )}
      </form>
    </main>
  )
}

const id = await sessionOf()
createRoot(document.getElementById('root')!).render(<App id={id} />)
`

const style = `:root {
  color-scheme: light dark;
  font-family: var(--tw-font);
  color: var(--tw-text);
  background: var(--tw-bg);
}
main {
  display: flex;
  flex-direction: column;
  height: 95dvh;
  max-width: 760px;
  margin: 0 auto;
}
form {
  display: flex;
  gap: 8px;
  padding: 8px 0;
}
`
