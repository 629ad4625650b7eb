// Starts nodes as processes of their own on one PostgreSQL, and speaks AAP with them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { databaseUrl, newSchema, withClient } from '../stores/postgres/server.ts'
import { secret } from './rig.ts'

const script = join(import.meta.dirname, 'server.ts')

export type NodeProcess = { url: string; child: ChildProcess; log(): string }

export type Processes = {
  folder: string
  start(): Promise<NodeProcess>
  /** What tools did, one line for each time. */
  effects(): string[]
  /** Lets `pay` return, on every node. */
  release(): void
  query<Row>(text: string): Promise<Row[]>
}

/** `t`: a test, or whoever else says when it is over. */
export async function processes(
  t: { after(over: () => Promise<void>): unknown },
  leaseMs: number,
): Promise<Processes> {
  const url = await databaseUrl()
  const schema = newSchema()
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-nodes-'))
  const children: ChildProcess[] = []
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    async start() {
      const env = { ...process.env, TURNWIRE_CLUSTER_SECRET: secret }
      const child = spawn(process.execPath, [script, folder, url, schema, String(leaseMs)], { env })
      children.push(child)
      let log = ''
      child.stderr.on('data', (bytes: Buffer) => {
        log += bytes.toString()
      })
      const ended = once(child, 'exit').then(() => {
        throw new Error(`The node did not start: ${log}`)
      })
      ended.catch(() => {})
      const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
      return { url: line.toString().split(' ')[0] ?? '', child, log: () => log }
    },
    effects: () => {
      const file = join(folder, 'effects')
      return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    },
    release: () => writeFileSync(join(folder, 'release'), ''),
    query: <Row>(text: string) =>
      withClient(
        url,
        async sql => (await sql.unsafe(text.replaceAll('$schema', `"${schema}"`))) as unknown as Row[],
      ),
  }
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** A request that is sent again, with the same key, while the server says that it may be. */
export async function post<Answer>(url: string, path: string, body: unknown, key?: string): Promise<Answer> {
  const headers = { 'content-type': 'application/json', ...(key !== undefined && { 'idempotency-key': key }) }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Answer
}

export async function begin(url: string, key?: string): Promise<string> {
  const tools = [{ name: 'pay', trust: true }, { name: 'mail' }]
  const made = await post<{ sessionId: string }>(url, '/sessions', { agent: { name: 'helper', tools } }, key)
  return made.sessionId
}

export type Answer = { stopReason: string; messages: { role: string; content: unknown }[] }

export function say(url: string, id: string, content: string, key?: string): Promise<Answer> {
  return post<Answer>(url, `/sessions/${id}/turns`, { messages: [{ role: 'user', content }] }, key)
}

/** Events of a session as the stream of AAP gives them: their ids and types. Ends after `until`, or when it is cut. */
export async function* watch(
  url: string,
  id: string,
  lastId?: string,
): AsyncGenerator<{ id: string; type: string }> {
  const headers = lastId === undefined ? { 'last-event-id': '0' } : { 'last-event-id': lastId }
  const answer = await fetch(`${url}/sessions/${id}/events`, { headers })
  if (!answer.ok || !answer.body) throw new Error(`${answer.status} ${await answer.text()}`)
  let rest = ''
  for await (const bytes of answer.body) {
    rest += Buffer.from(bytes).toString()
    const frames = rest.split('\n\n')
    rest = frames.pop() ?? ''
    for (const frame of frames) {
      const event = /^id: ?(.*)$/m.exec(frame)?.[1]
      const data = /^data: ?(.*)$/m.exec(frame)?.[1]
      if (event !== undefined && data !== undefined)
        yield { id: event, type: (JSON.parse(data) as { type?: string }).type ?? '' }
    }
  }
}

export async function until(isSo: () => boolean | Promise<boolean>, patienceMs = 60_000): Promise<void> {
  const began = performance.now()
  while (!(await isSo())) {
    if (performance.now() - began > patienceMs) throw new Error(`It never was so: ${String(isSo)}`)
    await pause(25)
  }
}
