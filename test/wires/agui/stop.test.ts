// The stop button of both generations of AG-UI's client: `abortRun` only closes the request.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { HttpAgent } from '@ag-ui/client'
import { HttpAgent as OlderAgent } from 'ag-ui-client-before-1'
import { type Rig, rig, until } from '../rig.ts'

const clients = { '1.0': HttpAgent, 'before 1.0': OlderAgent }
type Version = keyof typeof clients

/** The methods that both generations have alike. */
type Agent = Pick<HttpAgent, 'abortRun'> & {
  runAgent(): Promise<unknown>
  addMessage(message: { id: string; role: 'user'; content: string }): void
  messages: { role: string; content?: unknown }[]
}

function agentOf(version: Version, at: Rig): Agent {
  const options = { url: `${at.url}/agui/helper`, headers: at.headers(), threadId: `stop-${version}` }
  return new clients[version](options) as Agent // Their types name more than is used here.
}

const stopOf = async (at: Rig) => {
  const [row] = (await at.sessions.list('alice', { limit: 1 })).rows
  return (await at.sessions.peek('alice', row!.id)).lastStop?.stop
}

async function stopped(t: TestContext, version: Version): Promise<{ at: Rig; agent: Agent }> {
  let asked = 0
  const script = () => {
    asked += 1
    return asked === 1 ? { calls: [{ name: 'slow' }] } : { text: 'Here.' }
  }
  const at = await rig(t, { script })
  const agent = agentOf(version, at)
  agent.addMessage({ id: 'u1', role: 'user', content: 'go' })
  const running = agent.runAgent().catch(() => {})
  await until(() => at.runs.length === 1)
  agent.abortRun()
  await running
  return { at, agent }
}

for (const version of ['1.0', 'before 1.0'] as const) {
  test(`${version}: a run that is aborted ends its turn`, async t => {
    const { at } = await stopped(t, version)
    await until(async () => (await stopOf(at)) === 'cancelled')
  })

  test(`${version}: the next message is taken at once`, async t => {
    const { at, agent } = await stopped(t, version)
    agent.addMessage({ id: 'u2', role: 'user', content: 'and now?' })
    await agent.runAgent()
    assert.equal(agent.messages.at(-1)?.content, 'Here.')
    assert.equal(await stopOf(at), 'end')
  })

  test(`${version}: the same messages can be run again`, async t => {
    const { agent } = await stopped(t, version)
    await agent.runAgent()
    assert.equal(agent.messages.at(-1)?.content, 'Here.')
  })
}

test('a run that only follows a turn does not end it', async t => {
  const at = await rig(t, { script: [{ calls: [{ name: 'slow' }] }, { text: 'finished' }] })
  const agent = agentOf('1.0', at)
  agent.addMessage({ id: 'u1', role: 'user', content: 'go' })
  const running = agent.runAgent()
  await until(() => at.runs.length === 1)
  const messages = [
    { id: 'u1', role: 'user', content: 'go' },
    { id: 'a1', role: 'assistant', content: '' },
  ]
  const leaving = new AbortController()
  const follower = await at.request(
    'POST',
    '/agui/helper',
    { threadId: 'stop-1.0', runId: 'another', messages },
    { signal: leaving.signal },
  )
  assert.equal(follower.status, 200)
  leaving.abort()
  at.release()
  await running
  assert.equal(await stopOf(at), 'end')
})
