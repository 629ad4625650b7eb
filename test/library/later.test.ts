// A server tool leaves its result for later: the call waits without memory, and the result comes once, through the library,
// the command or its callback address.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import * as z from 'zod'
import {
  later,
  scripted,
  startServer,
  type Tool,
  type TurnItem,
  Turnwire,
  tool,
  withDetails,
} from '../../src/index.ts'
import { createLog } from '../../src/log.ts'
import { makeToken } from '../../src/wires/callbacks/index.ts'

const steps = [{ calls: [{ name: 'build', input: {} }] }, { text: 'Built.' }]
const hour = 3_600_000

function building(expires: number = hour, seen: { url?: string; runs: number } = { runs: 0 }) {
  const build = tool({
    name: 'build',
    description: 'Builds, which takes hours.',
    input: z.object({}),
    output: z.object({ built: z.number() }),
    trust: 'trusted',
    run: (_, context) => {
      seen.runs += 1
      try {
        seen.url = context.callback({ expires })
      } catch {}
      return later({ expires })
    },
  })
  return { build, seen }
}

function open(data: string, { build }: { build: Tool }) {
  return Turnwire.open({
    agents: [{ name: 'helper', model: scripted((_, at) => steps[at] ?? { text: 'Built.' }), tools: [build] }],
    data,
    server: { log: 'error' },
  })
}

async function begun(data = 'memory', made = building()) {
  const turnwire = await open(data, made)
  const session = await turnwire.session('helper')
  const items: TurnItem[] = []
  const turn = session.send('Build it.')
  for await (const item of turn) items.push(item)
  const reply = await turn
  assert.equal(reply.status, 'waiting')
  const call = items.find(item => item.type === 'call')
  assert.ok(call?.type === 'call')
  return { turnwire, session, callId: call.callId, ...made }
}

async function outcomeOf(session: Awaited<ReturnType<typeof begun>>['session']) {
  const results = (await session.history()).flatMap(entry => (entry.role === 'tool' ? entry.results : []))
  assert.equal(results.length, 1)
  return results[0]!.outcome
}

const inFolder = async (work: (folder: string) => Promise<void>): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-later-'))
  try {
    await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('a result that comes later', () => {
  test('comes through the library, passes the output schema, and carries details', async () => {
    const { turnwire, session, callId, seen } = await begun()
    const options = { structured: { built: 3 }, details: { log: 'x' } }
    const reply = await session.result(callId, 'Three.', options)
    assert.deepEqual([reply.status, reply.text], ['done', 'Built.'])
    const { kind, structured, details, from } = await outcomeOf(session)
    assert.deepEqual([kind, structured, details], ['ok', { built: 3 }, { log: 'x' }])
    assert.deepEqual(from, { source: 'tool', tool: 'build' })
    assert.equal(seen.runs, 1)
    await assert.rejects(async () => session.result(callId, 'Again.').accepted, { code: 'call_settled' })
    await turnwire.close()
  })

  test('that does not fit the output schema is an error, as that of any tool', async () => {
    const { turnwire, session, callId } = await begun()
    await session.result(callId, 'Three.')
    assert.equal((await outcomeOf(session)).kind, 'error')
    await turnwire.close()
  })

  test('survives a restart, and the first of two wins', () =>
    inFolder(async folder => {
      const first = await begun(folder)
      await first.turnwire.close()
      const again = building()
      const turnwire = await open(folder, again)
      const session = await turnwire.resume(first.session.id)
      assert.equal(await session.status(), 'waiting')
      const given = [1, 2].map(
        built => session.result(first.callId, `${built}`, { structured: { built } }).accepted,
      )
      const settled = await Promise.allSettled(given)
      assert.deepEqual(settled.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      await session.wait()
      assert.equal((await outcomeOf(session)).kind, 'ok')
      assert.equal(again.seen.runs, 0)
      await turnwire.close()
    }))

  test('that never comes is a timeout, also if its time is over while nothing runs', () =>
    inFolder(async folder => {
      const first = await begun(folder, building(200))
      await first.turnwire.close()
      const turnwire = await open(folder, building())
      const session = await turnwire.resume(first.session.id)
      while ((await session.status()) !== 'idle') await new Promise(done => setTimeout(done, 20))
      assert.equal((await outcomeOf(session)).kind, 'timeout')
      await turnwire.close()
    }))

  test('a message or a cancellation ends the call, and its result is refused', async () => {
    const { turnwire, session, callId } = await begun()
    await session.cancel()
    assert.equal((await outcomeOf(session)).kind, 'cancelled')
    await assert.rejects(async () => session.result(callId, 'x').accepted, { code: 'call_settled' })
    await turnwire.close()
  })

  test('there is no callback address without a server', async () => {
    const { turnwire, seen } = await begun()
    assert.equal(seen.url, undefined)
    await turnwire.close()
  })
})

describe('a callback address', () => {
  async function served() {
    const made = building()
    const turnwire = await open('memory', made)
    const server = await startServer(turnwire, { port: 0 })
    const session = await turnwire.session('helper')
    await session.send('Build it.')
    const url = made.seen.url ?? ''
    const post = (address: string, body: string, type = 'application/json') =>
      fetch(address, { method: 'POST', headers: { 'content-type': type }, body })
    return { turnwire, server, session, url, post }
  }

  test('is in no line of the log, though every request has one', async () => {
    const lines: string[] = []
    const made = building()
    const log = createLog({ level: 'debug', write: line => void lines.push(line) })
    const agent = { name: 'helper', model: scripted((_, at) => steps[at] ?? { text: 'Built.' }) }
    const turnwire = await Turnwire.open(
      { agents: [{ ...agent, tools: [made.build] }], data: 'memory', server: { log: 'debug' } },
      { log },
    )
    const server = await startServer(turnwire, { port: 0 })
    const session = await turnwire.session('helper')
    await session.send('Build it.')
    const url = made.seen.url ?? ''
    const token = url.split('/').at(-1) ?? ''
    const post = (headers: Record<string, string>) =>
      fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '"x"' })
    assert.equal((await post({ origin: 'https://evil.test' })).status, 403)
    assert.equal((await post({ 'content-type': 'text/plain' })).status, 415)
    assert.equal((await fetch(`${server.url}/api/jobs/run_secret/cancel`, { method: 'POST' })).status, 404)
    await server.stop()
    const written = lines.join('')
    assert.ok(written.includes('/callbacks/***'), written)
    assert.ok(written.includes('/api/jobs/***/cancel'))
    for (const secret of [token, token.split('.')[1]!, 'run_secret']) assert.ok(!written.includes(secret))
  })

  test('takes a result once, without a key', async () => {
    const { server, session, url, post } = await served()
    assert.ok(url.startsWith(`${server.url}/callbacks/`), url)
    const body = JSON.stringify({ text: 'Three.', structured: { built: 3 }, details: { by: 'job' } })
    assert.equal((await post(url, body)).status, 204)
    await session.wait()
    const { kind, details } = await outcomeOf(session)
    assert.deepEqual([kind, details], ['ok', { by: 'job' }])
    const second = await post(url, body)
    assert.equal(second.status, 409)
    assert.match(await second.text(), /call_settled/)
    await server.stop()
  })

  test('refuses a token that was changed, one of another key, and a body that is too large or no JSON', async () => {
    const { server, session, url, post } = await served()
    const [base, signature] =
      url.split('.').length > 1
        ? [url.slice(0, url.lastIndexOf('.')), url.slice(url.lastIndexOf('.'))]
        : ['', '']
    const other = makeToken({ session: session.id, callId: 'call_x', expiresAt: 2e12 }, () => 'A'.repeat(43))
    const body = JSON.stringify({ built: 1 })
    for (const address of [
      `${base}x${signature}`,
      `${url}x`,
      `${server.url}/callbacks/${other}`,
      `${server.url}/callbacks/a.b`,
    ]) {
      const answer = await post(address, body)
      assert.equal(answer.status, 401, address)
      assert.match(await answer.text(), /callback address is not valid/)
    }
    assert.equal((await post(url, 'no json')).status, 400)
    assert.equal((await post(url, 'x', 'text/html')).status, 415)
    assert.equal((await post(url, JSON.stringify('x'.repeat(11 * 1024 * 1024)))).status, 413)
    assert.equal(await session.status(), 'waiting')
    assert.equal((await post(url, body)).status, 204)
    await server.stop()
  })

  test('is refused after its time, although it is signed', async () => {
    const made = building(30)
    const turnwire = await open('memory', made)
    const server = await startServer(turnwire, { port: 0 })
    const session = await turnwire.session('helper')
    await session.send('Build it.')
    while ((await session.status()) !== 'idle') await new Promise(done => setTimeout(done, 10))
    const answer = await fetch(made.seen.url ?? '', { method: 'POST', body: '{"built":1}' })
    assert.equal(answer.status, 410)
    assert.match(await answer.text(), /callback_expired/)
    await server.stop()
  })

  test('a result that comes before the tool has returned waits for it', async () => {
    const posted = Promise.withResolvers<number>()
    const quick = tool({
      name: 'build',
      description: 'Starts a job that is done at once.',
      input: z.object({}),
      trust: 'trusted',
      run: async (_, context) => {
        const url = context.callback({ expires: hour })
        const sent = fetch(url, {
          method: 'POST',
          body: '"done"',
          headers: { 'content-type': 'application/json' },
        })
        sent.then(answer => posted.resolve(answer.status), posted.reject)
        await new Promise(done => setTimeout(done, 50))
        return later({ expires: hour })
      },
    })
    const turnwire = await open('memory', { build: quick })
    const server = await startServer(turnwire, { port: 0 })
    const session = await turnwire.session('helper')
    await session.send('Build it.')
    assert.equal(await posted.promise, 204)
    await session.wait()
    assert.equal((await outcomeOf(session)).kind, 'ok')
    await server.stop()
  })
})

test('the command gives the result', () =>
  inFolder(async folder => {
    const index = resolve('src/index.ts')
    const config = join(folder, 'turnwire.config.ts')
    writeFileSync(
      config,
      `import { later, scripted, tool } from ${JSON.stringify(index)}
const build = tool({ name: 'build', description: 'Builds.', input: { type: 'object' }, trust: 'trusted', run: () => later({ expires: 60000 }) })
const steps = ${JSON.stringify(steps)}
export default { agents: [{ name: 'helper', model: scripted((_, at) => steps[at] ?? { text: 'Built.' }), tools: [build] }], data: ${JSON.stringify(join(folder, 'data'))} }
`,
    )
    const first = await begun(join(folder, 'data'))
    await first.turnwire.close()
    const run = promisify(execFile)
    const args = [
      'bin/turnwire.mjs',
      'result',
      first.session.id,
      first.callId,
      'Done by hand.',
      '--config',
      config,
    ]
    const { stdout } = await run(process.execPath, args)
    assert.match(stdout, /^done: Built\./)
    await assert.rejects(run(process.execPath, args), /already has its result/)
  }))

test('details reach the application, and no model', async () => {
  const requests: string[] = []
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    trust: 'trusted',
    run: () => withDetails('seen', { rows: [1, 2], secret: 'for people only' }),
  })
  const turnwire = await Turnwire.open({
    agents: [
      {
        name: 'helper',
        tools: [look],
        model: scripted((request, at) => {
          requests.push(JSON.stringify(request.history))
          return at === 0 ? { calls: [{ name: 'look', input: {} }] } : { text: 'Done.' }
        }),
      },
    ],
    data: 'memory',
  })
  const session = await turnwire.session('helper')
  const turn = session.send('Look.')
  const results: TurnItem[] = []
  for await (const item of turn) if (item.type === 'result') results.push(item)
  const [found] = results
  assert.ok(found?.type === 'result')
  assert.deepEqual(found.outcome.details, { rows: [1, 2], secret: 'for people only' })
  assert.deepEqual(found.outcome.parts, [{ type: 'text', text: 'seen' }])
  await turnwire.close()
  void requests
})
