// The recipes of docs/guide/mount.md, each with the framework that it is for.
import { readFileSync } from 'node:fs'
import { findChromium } from '../../scripts/install-chromium.mjs'
import type { Case } from './cases.ts'

const page = readFileSync('docs/guide/mount.md', 'utf8')

/** The blocks under a heading that begin with a file's name. */
function filesUnder(heading: string): Record<string, string> {
  const section = page.split(/^## /m).find(each => each.startsWith(`${heading}\n`)) ?? ''
  const files = blocks(section)
  if (Object.keys(files).length === 0) throw new Error(`docs/guide/mount.md has no recipe for ${heading}.`)
  return files
}

function blocks(text: string): Record<string, string> {
  const found = text.matchAll(/^```(?:ts|js)\n\/\/ (\S+\.\w+)\n([\s\S]*?)^```$/gm)
  return Object.fromEntries([...found].map(([, name = '', code = '']) => [name, code]))
}

const shared = blocks(page.split(/^## /m)[0] ?? '')

/**
 * Starts the server with the words after it. Has a turn over the Responses wire, is refused without a user, loads the console with its
 * files; with `sockets` as the first word it has a turn on each WebSocket too.
 */
export const check = `
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
const port = await new Promise(done => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address()
    server.close(() => done(port))
  })
})
const [, , kind, program, ...args] = process.argv
const env = { ...process.env, PORT: String(port), NEXT_TELEMETRY_DISABLED: '1' }
const server = spawn(program, args, { env, stdio: ['ignore', 'inherit', 'inherit'], detached: true })
const url = \`http://127.0.0.1:\${port}/agents\`
const end = () => { try { process.kill(-server.pid) } catch {} }
try {
  for (let tries = 0; ; tries++) {
    const up = await fetch(\`\${url}/health\`).then(answer => answer.ok, () => false)
    if (up) break
    if (tries === 600) throw new Error('It does not listen.')
    await new Promise(done => setTimeout(done, 100))
  }
  const ask = headers => fetch(\`\${url}/v1/responses\`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'helper', input: 'Hello', stream: true }),
  })
  const refused = await ask({})
  if (refused.status !== 401) throw new Error(\`\${refused.status} \${await refused.text()}\`)
  const answer = await ask({ 'x-user': 'ann' })
  const text = await answer.text()
  if (!/text\\/event-stream/.test(answer.headers.get('content-type')) || !text.includes('response.completed')) throw new Error(\`\${answer.status} \${text}\`)
  const page = await fetch(url, { headers: { accept: 'text/html' } })
  const html = await page.text()
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file)
  if (files.length < 3) throw new Error(\`No console: \${page.status} \${html}\`)
  for (const file of files) {
    const got = await fetch(new URL(file, url))
    if (!file.startsWith('/agents/') || !got.ok || (await got.arrayBuffer()).byteLength === 0) throw new Error(\`\${got.status} \${file}\`)
  }
  if (kind === 'sockets') {
    const message = { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
    await turn('/v1/responses', { type: 'response.create', model: 'helper', input: 'Hello' }, 'response.completed')
    await turn('/api/ws/helper', { message: 'Hello' }, 'done')
    await turn('/ui/helper/socket', { type: 'send', requestId: 'r1', id: 'c1', trigger: 'submit-message', messages: [message] }, 'end')
    const refused = await turn('/v1/responses', {}, 'never', {}).catch(error => error.message)
    if (!/closed before open/.test(refused)) throw new Error(\`Without a user: \${refused}\`)
  }
} finally {
  end()
}
console.log('ok')

/** Sends one frame and waits for one of a type. */
function turn(path, frame, last, headers = { 'x-user': 'ann' }) {
  const { promise, resolve, reject } = Promise.withResolvers()
  const socket = new WebSocket(url.replace('http', 'ws') + path, { headers })
  const frames = []
  let open = false
  socket.onopen = () => { open = true; socket.send(JSON.stringify(frame)) }
  socket.onmessage = ({ data }) => {
    frames.push(data)
    if (JSON.parse(data).type === last) { resolve(); socket.close() }
  }
  socket.onclose = () => reject(new Error(\`\${path} closed \${open ? 'early' : 'before open'}: \${frames}\`))
  return promise
}
`

const recipe = (name: string, packages: readonly string[], more: Partial<Case> = {}): Case => ({
  group: 'framework',
  name,
  packages,
  run: [['node', 'check.mjs', 'sockets', 'node', 'server.ts']],
  ...more,
  files: { 'check.mjs': check, ...shared, ...filesUnder(name), ...more.files },
})

/** The page of examples/use-chat, built, and walked through: a call asks in it, a click allows it, and its result is shown. */
const walkThroughChat = `
import { spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import { chromium } from 'playwright-core'
const freePort = () => new Promise(done => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address()
    server.close(() => done(port))
  })
})
const [agentPort, pagePort] = [await freePort(), await freePort()]
const [agent, origin] = [agentPort, pagePort].map(port => \`http://127.0.0.1:\${port}\`)
const env = { ...process.env, NEXT_PUBLIC_TURNWIRE_URL: agent, PAGE_ORIGIN: origin, NEXT_TELEMETRY_DISABLED: '1' }
const built = spawnSync('next', ['build'], { env, stdio: 'inherit' })
if (built.status !== 0) throw new Error('It is not built.')
const programs = [
  ['turnwire', 'serve', '--port', String(agentPort)],
  ['next', 'start', '-H', '127.0.0.1', '-p', String(pagePort)],
].map(([program, ...args]) => spawn(program, args, { env, stdio: ['ignore', 'inherit', 'inherit'], detached: true }))
const browser = await chromium.launch({ executablePath: ${JSON.stringify(findChromium())}, args: ['--no-sandbox'] })
try {
  for (const url of [agent + '/health', origin])
    for (let tries = 0; !(await fetch(url).then(answer => answer.ok, () => false)); tries++) {
      if (tries === 600) throw new Error(url + ' does not answer.')
      await new Promise(done => setTimeout(done, 100))
    }
  const page = await browser.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(origin)
  await page.getByRole('textbox', { name: 'Message' }).fill('Cancel order 17')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText(/Order 17 is cancelled/).first().waitFor()
} finally {
  await browser.close()
  for (const { pid } of programs) try { process.kill(-pid) } catch {}
}
console.log('ok')
`

const layout = `import type { ReactNode } from 'react'\nexport default function Layout({ children }: { children: ReactNode }) { return <html><body>{children}</body></html> }\n`

function chatExample(): Case {
  const example = (name: string): string => readFileSync(`examples/use-chat/${name}`, 'utf8')
  const page = /^```tsx app\/page\.tsx\n([\s\S]*?)^```$/m.exec(example('README.md'))?.[1]
  if (page === undefined) throw new Error('examples/use-chat/README.md has no page.')
  const types = ['typescript@5', '@types/node@24', '@types/react']
  return {
    group: 'framework',
    name: 'Next.js chat with useChat',
    packages: ['next', 'react', 'react-dom', 'ai@7', '@ai-sdk/react@4', 'playwright-core', ...types],
    files: {
      'app/layout.tsx': layout,
      'app/page.tsx': page,
      'app/chat.ts': example('chat.ts'),
      'turnwire.config.ts': example('turnwire.config.ts'),
      'walk.mjs': walkThroughChat,
    },
    run: [['node', 'walk.mjs']],
  }
}

const blankPage = 'export default function Page() { return null }\n'

export const frameworks: readonly Case[] = [
  recipe('node:http', []),
  recipe('Express', ['express']),
  recipe('Fastify', ['fastify']),
  recipe('Hono', ['hono', '@hono/node-server']),
  recipe('Nest', ['@nestjs/core', '@nestjs/common', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'], {
    files: {
      'app.module.js': `import 'reflect-metadata'\nimport { Module } from '@nestjs/common'\nexport class AppModule {}\nModule({})(AppModule)\n`,
    },
  }),
  recipe('Next.js', ['next', 'react', 'react-dom', 'typescript@5', '@types/node@24', '@types/react'], {
    files: {
      'app/layout.tsx': layout,
      'app/page.tsx': blankPage,
    },
    run: [
      ['next', 'build'],
      ['node', 'check.mjs', 'requests', 'next', 'start'],
    ],
  }),
  chatExample(),
  recipe('Bun', ['@oven/bun-linux-x64@1.4'], {
    run: [['node', 'check.mjs', 'requests', 'node_modules/@oven/bun-linux-x64/bin/bun', 'server.ts']],
  }),
]
