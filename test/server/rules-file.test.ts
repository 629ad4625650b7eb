// A file of rules on a server: changed while it runs, seen by the next call, and named in the log.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { OperatorClient } from '../../src/client/index.ts'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'

test('a running server takes new rules, keeps the old ones where the file is wrong, and says so', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-rules-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'policy.yaml')
  writeFileSync(file, 'rules:\n  - { name: free, tool: push, then: allow }\n')
  const push = tool({ name: 'push', description: 'Pushes.', input: { type: 'object' }, run: () => 'Pushed.' })
  const model = scripted(request =>
    request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'push' }] } : { text: 'Done.' },
  )
  const turnwire = await Turnwire.open({
    agents: [{ name: 'dev', model, tools: [push] }],
    policy: { file, rules: [{ name: 'rest', then: 'ask' }] },
    data: 'memory',
    server: { log: 'silent' },
  })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const client = new OperatorClient({ baseUrl: server.url, retries: 0 })
  const session = await turnwire.session('dev')
  assert.equal((await session.send('Push')).status, 'done')

  /** The file is looked at each second. */
  const until = async (isSo: (policy: Awaited<ReturnType<typeof client.policy>>) => boolean) => {
    for (;;) {
      const policy = await client.policy()
      if (isSo(policy)) return policy
      await wait(50)
    }
  }
  writeFileSync(file, 'rules:\n  - { name: never, tool: push, then: deny, reason: Not today. }\n')
  const changed = await until(({ agents }) => agents[0]?.policy?.rules[0]?.name === 'never')
  assert.deepEqual(
    changed.agents[0]?.policy?.rules.map(({ name, from }) => [name, from]),
    [
      ['never', 'file'],
      ['rest', 'policy'],
    ],
  )
  assert.equal(changed.agents[0]?.tools[0]?.verdict.verdict, 'deny')
  await session.send('Push again')

  writeFileSync(file, 'rules:\n  - { name: never, tool: push, then: perhaps }\n')
  const kept = await until(policy => policy.file?.problem !== undefined)
  assert.match(kept.file?.problem ?? '', /policy\.yaml:2: rules\[0\]\.then must be/)
  assert.equal(kept.agents[0]?.policy?.rules[0]?.name, 'never')
  const health = (await (await fetch(`${server.url}/health`)).json()) as {
    status: string
    warnings?: string[]
  }
  assert.equal(health.status, 'ok')
  assert.match(health.warnings?.join() ?? '', /rules before it stay in force/)

  const { events } = await client.events(session.id)
  const versions = events.flatMap(({ event }) => (event.type === 'policy.applied' ? [event.version] : []))
  assert.equal(new Set(versions).size, 2)
  assert.deepEqual(
    events.flatMap(({ event }) => {
      if (event.type === 'call.started' && event.allowed) return [event.allowed.rule]
      return event.type === 'call.forbidden' ? [event.rule] : []
    }),
    ['free', 'never'],
  )
})
