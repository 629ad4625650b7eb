// The React application that `turnwire init --app react` writes beside the configuration: one page, and a program that starts the
// server and the page together.
import type { AppTemplate } from './app-template.ts'
import { chat, font, icon, serveAgent, session, style } from './chat.ts'

export const reactApp: AppTemplate = {
  files: agent => ({
    'index.html': page,
    'start.mjs': start,
    'tsconfig.json': tsconfig,
    'src/main.tsx': main.replace('__AGENT__', JSON.stringify(agent)),
    'src/session.tsx': withoutDirective(session),
    'src/chat.tsx': withoutDirective(chat),
    'src/style.css': style,
  }),
  scripts: {
    start: 'npm install --no-audit --no-fund && node start.mjs',
    dev: 'node start.mjs',
    build: 'tsc && vite build',
  },
  dependencies: { ...font, react: '^19.0.0', 'react-dom': '^19.0.0', vite: '^8.0.0' },
  devDependencies: {
    '@types/node': '^24.0.0',
    '@types/react': '^19.0.0',
    '@types/react-dom': '^19.0.0',
    typescript: '>=5.9',
  },
}

/** It is for Next.js alone. */
const withoutDirective = (text: string): string => text.replace("'use client'\n", '')

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Order clerk</title>
    <link rel="icon" href="${icon}" />
    <script type="module" src="/src/main.tsx"></script>
  </head>
  <body>
    <div id="root"></div>
  </body>
</html>
`

const tsconfig = `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["es2024", "esnext.iterator", "dom", "dom.iterable", "dom.asynciterable"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "allowImportingTsExtensions": true,
    "jsx": "react-jsx",
    "types": ["node", "vite/client"],
    "strict": true,
    "skipLibCheck": true,
    "noEmit": true
  },
  "include": ["src"]
}
`

const start = `// Starts the Turnwire server and the page, on ports that are free, and stops both with Ctrl-C.
import { createServer } from 'vite'
${serveAgent}
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

const main = `import { createRoot } from 'react-dom/client'
import '@fontsource-variable/inter/index.css'
import 'turnwire/react/style.css'
import { App } from './session'
import './style.css'

createRoot(document.getElementById('root')!).render(<App agent={__AGENT__} title="Order clerk" />)
`
