// The Next.js application that `turnwire init --app next` writes beside the configuration: a page, and a route that passes its
// requests on to the agent. There an application adds its own sign-in and its key.
import type { AppTemplate } from './app-template.ts'
import { chat, font, icon, serveAgent, session, style } from './chat.ts'

export const nextApp: AppTemplate = {
  files: agent => ({
    'start.mjs': start,
    'tsconfig.json': tsconfig,
    'next.config.mjs': config,
    'app/layout.tsx': layout,
    'app/page.tsx': page.replace('__AGENT__', JSON.stringify(agent)),
    'app/session.tsx': session,
    'app/chat.tsx': chat,
    'app/style.css': style,
    'app/aap/[...path]/route.ts': route,
  }),
  scripts: {
    start: 'npm install --no-audit --no-fund && node start.mjs',
    dev: 'node start.mjs',
    build: 'next build --webpack',
    'start:built': 'next start',
  },
  dependencies: { ...font, next: '^16.0.0', react: '^19.0.0', 'react-dom': '^19.0.0' },
  devDependencies: {
    '@types/node': '^24.0.0',
    '@types/react': '^19.0.0',
    '@types/react-dom': '^19.0.0',
    typescript: '^5.9.0',
  },
}

const start = `// Starts the Turnwire server on a free port, and Next.js, and stops both with Ctrl-C.
${serveAgent}
const next = createRequire(import.meta.url).resolve('next/dist/bin/next')
// Turbopack does not follow links that leave this folder, and a checkout of turnwire is one.
const page = spawn(process.execPath, [next, 'dev', '--webpack', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, TURNWIRE_URL: target },
})
page.on('exit', code => process.exit(code ?? 1))
process.on('exit', () => page.kill())
console.log('  agent   ' + target + '   (open it in a browser: the console)')
`

const config = `/** @type {import('next').NextConfig} */
export default { transpilePackages: ['turnwire'] }
`

const tsconfig = `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024", "esnext.iterator", "dom", "dom.iterable", "dom.asynciterable"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "allowImportingTsExtensions": true,
    "jsx": "react-jsx",
    "plugins": [{ "name": "next" }],
    "resolveJsonModule": true,
    "isolatedModules": true,
    "esModuleInterop": true,
    "allowJs": true,
    "incremental": true,
    "strict": true,
    "skipLibCheck": true,
    "noEmit": true
  },
  "include": ["next-env.d.ts", "app", ".next/types/**/*.ts", ".next/dev/types/**/*.ts"],
  "exclude": ["node_modules"]
}
`

const layout = `import type { ReactNode } from 'react'
import '@fontsource-variable/inter/index.css'
import 'turnwire/react/style.css'
import './style.css'

export const metadata = { title: 'Order clerk', icons: "${icon}" }

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  )
}
`

const page = `import { App } from './session'

export default function Page() {
  return <App agent={__AGENT__} title="Order clerk" />
}
`

const route = `// Passes requests of the page on to the Turnwire server. Check here who signed in, and add the server's key if it has one.
const target = process.env.TURNWIRE_URL ?? 'http://127.0.0.1:4117'
const key = process.env.TURNWIRE_KEY
/** They belong to one connection, or are set anew. */
const dropped = ['host', 'origin', 'connection', 'content-length', 'accept-encoding', 'cookie']

async function forward(request: Request): Promise<Response> {
  const { origin } = Object.fromEntries(request.headers)
  // Pages of other sites must not use the agent in a visitor's name.
  if (origin !== undefined && new URL(origin).host !== request.headers.get('host'))
    return Response.json({ error: 'This page may not use the agent.', code: 'forbidden_origin' }, { status: 403 })
  const { pathname, search } = new URL(request.url)
  const headers = new Headers(request.headers)
  for (const name of dropped) headers.delete(name)
  if (key) headers.set('authorization', 'Bearer ' + key)
  const body = request.method === 'GET' || request.method === 'HEAD' ? null : await request.arrayBuffer()
  const { method, signal } = request
  try {
    const answer = await fetch(target + pathname + search, { method, headers, body, signal, cache: 'no-store' })
    const kept = new Headers(answer.headers)
    for (const name of ['content-encoding', 'content-length', 'transfer-encoding', 'connection', 'keep-alive'])
      kept.delete(name)
    return new Response(answer.body, { status: answer.status, headers: kept })
  } catch {
    return Response.json({ error: 'The agent cannot be reached.', code: 'connection_failed' }, { status: 502 })
  }
}

export const dynamic = 'force-dynamic'
export { forward as DELETE, forward as GET, forward as POST, forward as PUT }
`
