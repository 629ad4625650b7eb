// Servers whose MCP server has an account for each owner, a browser that keeps cookies, and a person who agrees in it.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { newKey } from '../../../src/callers/keys.ts'
import { OperatorClient } from '../../../src/client/index.ts'
import type { TurnwireConfig } from '../../../src/config/config.ts'
import type { Store } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import { Turnwire } from '../../../src/library/turnwire.ts'
import { scripted } from '../../../src/models/scripted/index.ts'
import { startServer } from '../../../src/server/server.ts'
import type { OperatorQuestion } from '../../../src/wires/operator/schema.ts'
import { until } from '../../wires/rig.ts'
import type { AuthRig } from './authorization-server.ts'

const keys = { ana: newKey('ana'), ben: newKey('ben'), root: newKey('root', true) }
export type Who = keyof typeof keys
export const keyOf = (who: Who): string => keys[who].key

/** Calls the tool that the last message names, after the server was connected; then repeats what it said. */
const model = scripted(({ history, tools }) => {
  const last = history.at(-1)
  const wanted = history.findLast(({ role }) => role === 'user')
  const name = `notes__${wanted?.role === 'user' ? joinText(wanted.parts) : ''}`
  const isOffered = (each: string): boolean => tools.some(tool => tool.name === each)
  const hasRun = last?.role === 'tool' && last.results.some(result => result.name === name)
  if (last?.role === 'tool' && (hasRun || !isOffered(name)))
    return { text: last.results.map(result => joinText(result.outcome.parts)).join(' ') }
  return { calls: [{ name: isOffered(name) ? name : 'notes__connect', input: {} }] }
})

export type AccountRig = {
  url: string
  turnwire: Turnwire
  logs: string[]
  client(who: Who): OperatorClient
  request(who: Who | 'nobody', method: string, path: string): Promise<Response>
  /** Begins a session and says something. */
  say(who: Who, text: string): Promise<string>
  /** Says it in a session that is there. */
  again(who: Who, session: string, text: string): Promise<void>
  /** The question that waits in a session. */
  question(who: Who, session: string): Promise<{ id: string; message: string; url: string }>
  /** The last words of the session, once its turn has ended. */
  answer(who: Who, session: string): Promise<string>
  stop(): Promise<void>
}

export async function accountServer(
  t: TestContext,
  auth: AuthRig,
  data: Store | string,
  more: Partial<TurnwireConfig> = {},
): Promise<AccountRig> {
  const logs: string[] = []
  const { server, mcp, ...rest } = more
  const turnwire = await Turnwire.open(
    {
      data,
      agents: [{ name: 'helper', model }],
      mcp: mcp ?? { notes: { url: auth.url, auth: { per: 'owner' }, trust: 'trusted' } },
      ...rest,
      server: { keys: Object.values(keys).map(({ entry }) => entry), graceMs: 100, ...server },
    },
    {
      log: (level, message, fields) =>
        void logs.push(`${level} ${message} ${fields ? JSON.stringify(fields) : ''}`),
    },
  )
  const running = await startServer(turnwire, { port: 0 })
  let stopped: Promise<void> | undefined
  const stop = (): Promise<void> => (stopped ??= running.stop())
  t.after(stop)
  const client = (who: Who): OperatorClient =>
    new OperatorClient({ baseUrl: running.url, apiKey: keys[who].key })
  const say = async (who: Who, session: string, text: string): Promise<void> => {
    await client(who).command(session, { do: 'say', text })
  }
  return {
    url: running.url,
    turnwire,
    logs,
    client,
    request: (who, method, path) =>
      fetch(running.url + path, {
        method,
        headers: who === 'nobody' ? {} : { authorization: `Bearer ${keys[who].key}` },
      }),
    async say(who, text) {
      const { id } = await client(who).create({ agent: 'helper' })
      await say(who, id, text)
      return id
    },
    again: say,
    async question(who, session) {
      let found: OperatorQuestion['question'] | undefined
      await until(async () => {
        const { questions } = await client(who).approvals()
        found = questions.find(each => each.session === session)?.question
        return found !== undefined
      })
      assert.ok(found?.url !== undefined)
      return { ...found, url: found.url }
    },
    async answer(who, session) {
      await until(async () => (await client(who).session(session)).status === 'idle')
      const { events } = await client(who).events(session)
      const said = events.findLast(({ event }) => event.type === 'model.answered')?.event
      assert.ok(said?.type === 'model.answered', JSON.stringify(events.at(-1)))
      return joinText(said.parts.filter(part => part.type === 'text'))
    },
    stop,
  }
}

/** A browser: keeps the cookies of each origin, and follows a link as a person does. */
export class Browser {
  readonly #cookies = new Map<string, string>()

  async open(address: string, init: RequestInit = {}): Promise<{ status: number; text: string }> {
    const { origin } = new URL(address)
    const cookie = this.#cookies.get(origin)
    const answer = await fetch(address, {
      redirect: 'manual',
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...(cookie && { cookie }) },
    })
    const [set] = answer.headers.getSetCookie()
    if (set !== undefined) this.#cookies.set(origin, set.split(';')[0] ?? '')
    const location = answer.headers.get('location')
    if (location !== null) return this.open(new URL(location, address).href)
    return { status: answer.status, text: await answer.text() }
  }

  /** Presses the button of the page, and gives the address where it goes on. */
  async press(address: string): Promise<string> {
    const page = await this.open(address, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'go=on',
    })
    const link = /href="([^"]+)"/.exec(page.text)?.[1]
    assert.ok(link !== undefined, `${page.status} ${page.text}`)
    return link.replaceAll('&amp;', '&')
  }

  /** The whole way: the page, the button, the account at the other side, and back. */
  async connect(auth: AuthRig, address: string, account: string): Promise<{ status: number; text: string }> {
    const page = await this.open(address)
    assert.equal(page.status, 200, page.text)
    const on = await this.press(address)
    auth.account = account
    return this.open(on)
  }
}
