// A web origin for the tests in a browser: an empty page, the packages of node_modules as they are, and our own sources with
// their types stripped. Nothing is bundled: an import map leads to the files.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join, normalize } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

const imports = {
  openai: '/node_modules/openai/index.mjs',
  '@anthropic-ai/sdk': '/node_modules/@anthropic-ai/sdk/index.mjs',
  '@google/genai': '/node_modules/@google/genai/dist/web/index.mjs',
  '@opentelemetry/api': '/node_modules/@opentelemetry/api/dist/index.mjs',
  'eventsource-parser': '/node_modules/eventsource-parser/dist/index.js',
  // These two are CommonJS: webhooks, and trying again.
  standardwebhooks: 'data:text/javascript,export class Webhook {}',
  'p-retry': 'data:text/javascript,export default run => run(1); export class AbortError extends Error {}',
  'turnwire/client': '/src/client/index.ts',
}

const page = `<!doctype html><title>page</title><script type="importmap">${JSON.stringify({ imports })}</script>`

function fileOf(path: string): string | undefined {
  const file = normalize(join(root, decodeURIComponent(path)))
  return file.startsWith(root) && existsSync(file) && statSync(file).isFile() ? file : undefined
}

/** Gives the origin. */
export async function servePage(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://page')
    const file = pathname === '/' ? undefined : fileOf(pathname)
    if (pathname !== '/' && file === undefined) {
      response.writeHead(404).end()
      return
    }
    const text = file === undefined ? page : readFileSync(file, 'utf8')
    response.writeHead(200, { 'content-type': file === undefined ? 'text/html' : 'text/javascript' })
    response.end(file?.endsWith('.ts') ? stripTypeScriptTypes(text) : text)
  })
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // It listens on TCP.
}
