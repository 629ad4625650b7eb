// One program, one origin: the page at /, built by Vite as it is asked for, and the agent under /agent. PORT=0 takes a free port.
import { createServer } from 'node:http'
import { rehearsal, Turnwire } from 'turnwire'
import { createServer as createVite } from 'vite'

const turnwire = await Turnwire.open({
  // It has no tools: the session of a page brings those of the page.
  agents: [{ name: 'helper', model: rehearsal() }],
  data: 'memory',
  // Say here who the visitor is, from your own sign-in.
  server: { path: '/agent', wires: ['aap'], authenticate: () => ({ owner: 'visitor' }) },
})
const server = createServer((request, response) => {
  if (request.url?.startsWith('/agent/')) void turnwire.node(request, response)
  else vite.middlewares(request, response)
})
const vite = await createVite({
  configFile: false,
  root: import.meta.dirname,
  appType: 'mpa',
  // In a checkout turnwire/client is TypeScript, two folders up.
  server: { middlewareMode: true, hmr: { server }, fs: { allow: ['../..'] } },
  logLevel: 'error',
})
server.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1', () => {
  const address = server.address()
  console.log(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : ''}`)
})
