// Connections that cannot carry a payment: WebSockets, ACP and the operator API. Whoever must pay is refused there, in the
// words of the protocol, and nothing is done for it. Holders of a key who need not pay are served as before.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { client as acpClient, type Stream } from '@agentclientprotocol/sdk'
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client'
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client'
import { WebSocket } from 'ws'
import { cites } from '../requirements/manifest.ts'
import { skipped, startChain } from './chain.ts'
import { asOperator, openShop, post } from './rig.ts'
import { signIn } from './sign.ts'

const chain = await startChain()
const options = { skip: skipped, timeout: 60_000 }
/** What every refusal says. */
const cannot = /"helper" is paid for by request, and this connection cannot carry a payment/

const open = (t: TestContext, keysPay: boolean) =>
  openShop(t, chain, { payments: { keysPay }, server: { acp: true } })

const socketUrl = (url: string, path: string): string => `${url.replace('http', 'ws')}${path}`

/** The frames of a socket until one of them is wanted; or the status with which it was refused. */
async function speak(
  t: TestContext,
  url: string,
  path: string,
  frame: object,
  until: RegExp,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string }> {
  const socket = new WebSocket(socketUrl(url, path), { headers })
  t.after(() => socket.terminate())
  socket.on('error', () => {})
  return new Promise(resolve => {
    let text = ''
    socket.once('unexpected-response', (_request, response) => {
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    socket.once('open', () => socket.send(JSON.stringify(frame)))
    socket.on('message', data => {
      text += String(data as Buffer)
      if (until.test(text)) resolve({ status: 101, text })
    })
    socket.once('close', () => resolve({ status: 101, text }))
  })
}

const sockets = [
  {
    path: '/v1/responses',
    frame: { type: 'response.create', model: 'helper', input: 'Hi', store: false },
    over: /response\.completed|"error"/,
  },
  {
    path: '/api/ws/helper',
    frame: { message: 'Hi' },
    over: /text_delta|"done"|"error"/,
  },
]

for (const { path, frame, over } of sockets)
  test(
    cites(
      'X402-WIRE-02',
      `WebSocket ${path}: refused before it opens without a key, and told why with one that pays`,
    ),
    options,
    async t => {
      const { url, asked } = await open(t, true)
      for (const headers of [{}, await signIn(url, await chain.payer())]) {
        const { status, text } = await speak(t, url, path, frame, over, headers)
        assert.equal(status, 401, text)
        assert.match(text, /A valid key is needed/)
      }
      const { text } = await speak(t, url, path, frame, over, asOperator)
      assert.match(text.replaceAll('\\"', '"'), cannot)
      assert.equal(asked(), 0)
      const free = await open(t, false)
      const served = await speak(t, free.url, path, frame, over, asOperator)
      assert.doesNotMatch(served.text, /cannot carry a payment/)
      assert.equal(free.asked(), 1)
    },
  )

async function prompt(t: TestContext, stream: Stream): Promise<string> {
  const connection = acpClient()
    .onNotification('session/update', () => {})
    .connect(stream)
  t.after(() => connection.close())
  const { agent } = connection
  await agent.request('initialize', { protocolVersion: 1 })
  const { sessionId } = await agent.request('session/new', { cwd: '/tmp', mcpServers: [] })
  const { stopReason } = await agent.request('session/prompt', {
    sessionId,
    prompt: [{ type: 'text', text: 'Hi' }],
  })
  return stopReason
}

for (const transport of ['http', 'ws'] as const)
  test(
    cites('X402-WIRE-02', `ACP over ${transport}: a prompt that is to be paid for is refused`),
    options,
    async t => {
      const streamTo = (url: string): Stream =>
        transport === 'http'
          ? createHttpStream(`${url}/acp/helper`, { headers: asOperator })
          : createWebSocketStream(socketUrl(url, '/acp/helper'), {
              headers: asOperator,
              // The types of `ws` know more events than the SDK's shape of a socket.
              WebSocket: WebSocket as never,
            })
      const { url, asked } = await open(t, true)
      await assert.rejects(prompt(t, streamTo(url)), { message: cannot })
      assert.equal(asked(), 0)
      const free = await open(t, false)
      assert.equal(await prompt(t, streamTo(free.url)), 'end_turn')
      assert.equal((await post(url, '/acp/helper', {})).status, 401)
    },
  )

test(
  cites('X402-WIRE-02', 'the operator API: a turn that is to be paid for is refused'),
  options,
  async t => {
    const { url, asked } = await open(t, true)
    const made = await post(url, '/operator/sessions', { agent: 'helper' }, asOperator)
    const { id } = (await made.json()) as { id: string }
    const said = await post(url, `/operator/sessions/${id}/commands`, { do: 'say', text: 'Hi' }, asOperator)
    assert.equal(said.status, 402)
    assert.match((await said.text()).replaceAll('\\"', '"'), cannot)
    assert.equal(asked(), 0)
  },
)
