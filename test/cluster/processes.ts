// Starts nodes as processes of their own on one PostgreSQL, and speaks AAP with them.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type KeyEntry, newKey } from '../../src/callers/keys.ts'
import { databaseUrl, newSchema, withClient } from '../stores/postgres/server.ts'
import { secret } from './rig.ts'

const nodeScript = join(import.meta.dirname, 'server.ts')

/** `order`: the node itself opens a session, and says when that is done, whatever came of it. */
export type NodeProcess = {
  url: string
  child: ChildProcess
  log: () => string
  order: (what: NodeOrder, session: string) => Promise<void>
}

/** A command that opens the session, tools that are attached to it, a call that a client claims. */
export type NodeOrder = 'open' | 'attach' | 'claim'

/** What a node is told beside its command line. */
export type NodeSettings = {
  /** Where it listens for clients. They need a key then. */
  host?: string
  keys?: KeyEntry[]
  /** How long it waits for a database that went away. */
  patienceMs?: number
  /** False: the text of each statement is sent every time. */
  prepare?: boolean
}

export type StartOptions = NodeSettings & {
  /** What is run as the node, if not server.ts. It is given the same words. */
  script?: string
  /** The address of the database for this node, if not that of all. */
  database?: string
  /** The command that the node is run with. */
  wrap?: readonly string[]
  env?: Record<string, string>
  /** Called when there is a process, which may still wait for what this does. */
  spawned?: (child: ChildProcess) => void
}

export type Processes = {
  folder: string
  start(options?: StartOptions): Promise<NodeProcess>
  /** What tools did, one line for each time. */
  effects(): string[]
  /** Lets `pay` return, on every node. */
  release(): void
  /** From here on `pay` waits again. */
  hold(): void
  query<Row>(text: string): Promise<Row[]>
}

const key = newKey('tester')

/** What clients of nodes send that ask for a key. Others do not mind. */
export const headers = { authorization: `Bearer ${key.key}` }

/** `t`: a test, or whoever else says when it is over. `database`: the address that nodes use, if not the shared one. */
export async function processes(
  t: { after(over: () => Promise<void>): unknown },
  leaseMs: number,
  database?: string,
): Promise<Processes> {
  const url = database ?? (await databaseUrl())
  const schema = newSchema()
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-nodes-'))
  const children: ChildProcess[] = []
  t.after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map(ended))
    await withClient(url, sql => sql.unsafe(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`))
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    async start(options = {}) {
      const { script = nodeScript, wrap = [], env: more = {}, spawned, ...rest } = options
      const { database: own = url, ...settings } = rest
      const given: NodeSettings = { ...settings, ...(settings.host !== undefined && { keys: [key.entry] }) }
      const env = {
        ...process.env,
        TURNWIRE_CLUSTER_SECRET: secret,
        NODE_SETTINGS: JSON.stringify(given),
        ...more,
      }
      const words = [process.execPath, script, folder, own, schema, String(leaseMs)]
      const [command = '', ...args] = [...wrap, ...words]
      const child = spawn(command, args, { env })
      children.push(child)
      spawned?.(child)
      let log = ''
      child.stderr.on('data', (bytes: Buffer) => {
        log += bytes.toString()
      })
      const ended = once(child, 'exit').then(() => {
        throw new Error(`The node did not start: ${log}`)
      })
      ended.catch(() => {})
      const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
      const order: NodeProcess['order'] = async (what, session) => {
        const words = `${what} ${session}`
        const done = new Promise<void>(resolve => {
          child.stdout.on('data', (bytes: Buffer) => {
            if (bytes.toString().includes(words)) resolve()
          })
        })
        child.stdin.write(`${words}\n`)
        await done
      }
      return { url: line.toString().split(' ')[0] ?? '', child, log: () => log, order }
    },
    effects: () => {
      const file = join(folder, 'effects')
      return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
    },
    release: () => writeFileSync(join(folder, 'release'), ''),
    hold: () => rmSync(join(folder, 'release'), { force: true }),
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

/** `idempotent`: the key of the request. */
export async function post<Answer>(
  url: string,
  path: string,
  body: unknown,
  idempotent?: string,
): Promise<Answer> {
  const sent = {
    ...headers,
    'content-type': 'application/json',
    ...(idempotent !== undefined && { 'idempotency-key': idempotent }),
  }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers: sent, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Answer
}

/** A request that is sent again, to any of the nodes and with its key, until it is answered. */
export async function insist<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; ; tries++)
    try {
      return await send()
    } catch (error) {
      const words = error instanceof Error ? error.message : ''
      if (/^4/.test(words) || tries > 300) throw error
      await pause(100)
    }
}

export type State = { status: string; calls: { part: { id: string } }[] }

export async function stateOf(url: string, id: string): Promise<State> {
  const answer = await fetch(`${url}/sessions/${id}/state`, { headers })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return (await answer.json()) as State
}

type Message = { role: string; content: unknown }

export async function historyOf(url: string, id: string): Promise<Message[]> {
  const answer = await fetch(`${url}/sessions/${id}/history?type=full`, { headers })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { history: { full: Message[] } }).history.full
}

export async function begin(url: string, key?: string): Promise<string> {
  const tools = [{ name: 'pay', trust: true }, { name: 'mail' }]
  const made = await post<{ sessionId: string }>(url, '/sessions', { agent: { name: 'helper', tools } }, key)
  return made.sessionId
}

export type Answer = { stopReason: string; code?: string; messages: { role: string; content: unknown }[] }

export function say(url: string, id: string, content: string, key?: string): Promise<Answer> {
  return post<Answer>(url, `/sessions/${id}/turns`, { messages: [{ role: 'user', content }] }, key)
}

/** Events of a session as the stream of AAP gives them: their ids and types. Ends after `until`, or when it is cut. */
export async function* watch(
  url: string,
  id: string,
  lastId?: string,
  signal?: AbortSignal,
): AsyncGenerator<{ id: string; type: string }> {
  const sent = { ...headers, 'last-event-id': lastId ?? '0' }
  const answer = await fetch(`${url}/sessions/${id}/events`, { headers: sent, signal: signal ?? null })
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
