// Several whole servers over one memory, each a node that serves every wire. A session that was begun on one of them is that
// node's; a request on another crosses to it.
import type { TestContext } from 'node:test'
import { client as clientApp } from '@agentclientprotocol/sdk'
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client'
import { WebSocket } from 'ws'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { sharedMemory } from '../../src/stores/memory.ts'
import { cwd } from '../wires/acp/rig.ts'
import { type AllWires, allWires } from '../wires/all-wires.ts'
import type { RigOptions } from '../wires/rig.ts'
import { secret } from './rig.ts'

export type WireNodes = {
  a: AllWires
  b: AllWires
  c: AllWires
  /** The node that has a session, by name. */
  holder: (session: string) => Promise<string | undefined>
}

export async function wireNodes(t: TestContext, options: RigOptions): Promise<WireNodes> {
  const memory = sharedMemory()
  const start = (): Promise<AllWires> =>
    allWires(t, {
      ...options,
      store: memory.open(),
      server: { cluster: { secret, leaseMs: 60_000 }, ...options.server },
    })
  const nodes = { a: await start(), b: await start(), c: await start() }
  const watching = memory.open()
  const ids = new Map<string, string>()
  for (const [name, { turnwire }] of Object.entries(nodes)) ids.set(nodeIdOf(turnwire), name)
  return {
    ...nodes,
    holder: async session => ids.get((await watching.holder(session))?.node?.id ?? ''),
  }
}

function nodeIdOf(turnwire: AllWires['turnwire']): string {
  return runtimeOf(turnwire).node?.id ?? ''
}

export type SocketEditor = Awaited<ReturnType<typeof socketEditor>>

/** An editor that speaks ACP over a WebSocket with a node. `choice`: what it answers when it is asked. */
export async function socketEditor(t: TestContext, { url, headers }: AllWires, choice = 'allow') {
  const texts: string[] = []
  const asked: string[] = []
  const stream = createWebSocketStream(`${url.replace('http', 'ws')}/acp`, {
    headers: headers(),
    // The types of `ws` know more events than the SDK's shape of a socket.
    WebSocket: WebSocket as never,
  })
  const connection = clientApp()
    .onNotification('session/update', ({ params: { update } }) => {
      if (update.sessionUpdate === 'agent_message_chunk' && update.content.type === 'text')
        texts.push(update.content.text)
    })
    .onRequest('session/request_permission', ({ params }) => {
      asked.push(params.toolCall.toolCallId)
      if (choice === 'none') return new Promise(() => {})
      return { outcome: { outcome: 'selected', optionId: choice } }
    })
    .connect(stream)
  t.after(() => connection.close())
  const { agent } = connection
  await agent.request('initialize', { protocolVersion: 1 })
  return {
    agent,
    texts,
    asked,
    begin: async () => (await agent.request('session/new', { cwd, mcpServers: [] })).sessionId,
    /** What it is shown of the past is left out of `texts`. */
    async load(sessionId: string) {
      await agent.request('session/load', { sessionId, cwd, mcpServers: [] })
      texts.length = 0
    },
    prompt: (sessionId: string, text: string) =>
      agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] }),
    cancel: (sessionId: string) => agent.notify('session/cancel', { sessionId }),
    close: () => connection.close(),
  }
}
