// A whole server as an operator starts it: two owners with keys, SQLite in a folder, a log that is kept, and a client that
// can send what a browser or fetch would refuse to.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Keys, newKey } from '../../src/callers/keys.ts'
import { OwnerAccounts } from '../../src/callers/owner-limits.ts'
import { startServer, Turnwire, type TurnwireConfig } from '../../src/index.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { createLog } from '../../src/log.ts'
import { ConsoleCookies } from '../../src/server/console-cookie.ts'
import { createApp, makeHost, servedHost } from '../../src/server/server.ts'
import { WireTable } from '../../src/server/wires.ts'

export type Answer = { status: number; headers: IncomingHttpHeaders; text: string }

export type Sent = {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
  /** Ends the wait after this many bytes of the answer, for streams that never end. */
  enough?: number
}

export type ServerRig = {
  url: string
  port: number
  folder: string
  logs: string[]
  turnwire: Turnwire
  keys: { ana: string; ben: string }
  /** Every route that the server has, as method and path. */
  routes: { method: string; path: string }[]
  send(sent: Sent): Promise<Answer>
  as(owner: 'ana' | 'ben', sent: Sent): Promise<Answer>
}

export async function serverRig(t: TestContext, config: Omit<TurnwireConfig, 'data'>): Promise<ServerRig> {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-threats-'))
  const [ana, ben] = [newKey('ana'), newKey('ben')]
  const keys = [ana.entry, ben.entry]
  const logs: string[] = []
  const log = createLog({ level: 'debug', write: line => void logs.push(line) })
  const turnwire = await Turnwire.open(
    { ...config, data: folder, server: { graceMs: 50, ...config.server, keys } },
    { log },
  )
  const running = await startServer(turnwire, { port: 0 })
  const { url, port } = running
  t.after(async () => {
    await running.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const runtime = runtimeOf(turnwire)
  const host = await makeHost(runtime)
  const accounts = new OwnerAccounts({}, host.limits.bodyBytes)
  const known = new Keys(keys)
  const cookies = new ConsoleCookies(known, runtime.vault)
  const table = new WireTable()
  const served = await table.serve(await servedHost(runtime, host, known, cookies))
  const hostname = '127.0.0.1'
  const app = createApp({ runtime, table, served, keys: known, cookies, hostname, host, accounts })
  const send = (sent: Sent): Promise<Answer> => exchange(port, sent)
  const tokens = { ana: ana.key, ben: ben.key }
  return {
    url,
    port,
    folder,
    logs,
    turnwire,
    keys: tokens,
    routes: app.routes.filter(({ path }) => path !== '/*'),
    send,
    as: (owner, sent) =>
      send({ ...sent, headers: { authorization: `Bearer ${tokens[owner]}`, ...sent.headers } }),
  }
}

function exchange(port: number, { method = 'GET', path, headers, body, enough }: Sent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest({
      port,
      host: '127.0.0.1',
      method,
      path,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    })
    asked.on('error', reject)
    asked.on('response', response => {
      let text = ''
      const done = (): void => resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        if (enough === undefined || text.length < enough) return
        done()
        asked.destroy()
      })
      response.on('end', done)
      response.on('error', () => {})
    })
    asked.end(body)
  })
}

/** Every byte that the server has written to its folder. */
export function bytesOf(folder: string, except: readonly string[] = []): Buffer {
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    entry => entry.isFile() && !except.includes(entry.name),
  )
  return Buffer.concat(files.map(({ name }) => readFileSync(join(folder, name))))
}

export async function newSession(rig: ServerRig, owner: 'ana' | 'ben', body: object = {}): Promise<string> {
  const sent = { agent: { name: 'helper' }, ...body }
  const answer = await rig.as(owner, {
    method: 'POST',
    path: '/aap/v3/sessions',
    body: JSON.stringify(sent),
  })
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`)
  const { sessionId } = JSON.parse(answer.text) as { sessionId: string }
  return sessionId
}

export function say(text: string, over: object = {}): string {
  return JSON.stringify({ messages: [{ role: 'user', content: text }], ...over })
}
