// A server process that is killed and followed by another on the same folder, and the little of AAP that its tests speak.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { tempFolder } from '../temp-folder.ts'

export type Answer = {
  stopReason: string
  messages: { role: string; toolCallId?: string; content: unknown }[]
}
type Block = { type: string; toolCallId?: string; name?: string }

export function newFolder(t: TestContext): string {
  return tempFolder(t, 'turnwire-killed-')
}

/** `script`: prints its address first, and is given the folder. */
export async function serveScript(
  t: TestContext,
  script: string,
  folder: string,
  crashAt?: string,
): Promise<{ url: string; child: ChildProcess }> {
  const { TURNWIRE_CRASH_AT: _, ...rest } = process.env
  const env = crashAt === undefined ? rest : { ...rest, TURNWIRE_CRASH_AT: crashAt }
  const child = spawn(process.execPath, [script, folder], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => void child.kill('SIGKILL'))
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  return { url: line.toString().trim(), child }
}

export async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Whether the server dies at the point while a client talks to it. */
export async function dies(
  t: TestContext,
  script: string,
  folder: string,
  crashAt: string,
  talk: (url: string) => Promise<unknown>,
): Promise<boolean> {
  const { url, child } = await serveScript(t, script, folder, crashAt)
  const died = new Promise<true>(resolve => child.once('exit', () => resolve(true)))
  const talked = talk(url).then(
    () => false,
    (error: unknown) => {
      if (error instanceof assert.AssertionError) throw error
      return died
    },
  )
  const isDead = await Promise.race([died, talked])
  await killed(child)
  return isDead
}

/** What a client remembers: the steps that were acknowledged. It takes each of them once. */
export class Steps {
  readonly #taken = new Set<string>()

  async take(name: string, act: () => Promise<unknown>): Promise<void> {
    if (this.#taken.has(name)) return
    await act()
    this.#taken.add(name)
  }
}

export async function untilIdle(url: string, session: string): Promise<void> {
  for (;;) {
    const state = (await (await fetch(`${url}/sessions/${session}/state`)).json()) as { status: string }
    if (state.status === 'idle') return
    await sleep(5)
  }
}

export async function post(
  url: string,
  path: string,
  body: unknown,
): Promise<Answer & { sessionId: string }> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.ok(answer.ok, `${answer.status}`)
  return (await answer.json()) as Answer & { sessionId: string }
}

export async function begin(url: string, tools: object[] = []): Promise<string> {
  return (await post(url, '/sessions', { agent: { name: 'helper' }, tools })).sessionId
}

export const say = (url: string, id: string) =>
  post(url, `/sessions/${id}/turns`, { messages: [{ role: 'user', content: 'go' }] })

/** The call of this name that an answer ends with. */
export function waiting({ stopReason, messages }: Answer, name: string): string {
  assert.equal(stopReason, 'tool_use')
  const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Block[]) : []))
  const call = blocks.findLast(block => block.type === 'tool_use' && block.name === name)
  assert.ok(call?.toolCallId, name)
  return call.toolCallId
}

export const effectsIn = (folder: string): string[] =>
  existsSync(join(folder, 'effects')) ? readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n') : []
