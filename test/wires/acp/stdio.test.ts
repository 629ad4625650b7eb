// The pipe: frames that are wrong, too long or unknown, written by hand; then the real command, driven by the SDK's client
// and by another program that speaks the protocol.
import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isJsonObject } from '../../../src/lib/json/index.ts'
import { serveAcp } from '../../../src/wires/acp/connect.ts'
import { stdioStream } from '../../../src/wires/acp/stdio.ts'
import { cites } from '../../requirements/manifest.ts'
import { type Frame, FrameCheck } from './frames.ts'
import { cwd, makeAcp, refOf, summaryOf, until } from './rig.ts'

type Pipe = {
  write(text: string | Buffer): void
  check: FrameCheck
  frames: Frame[]
  next(id: Frame['id']): Promise<Frame>
}

function framesFrom(stream: NodeJS.ReadableStream, check: FrameCheck): Frame[] {
  const frames: Frame[] = []
  let rest = ''
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString('utf8')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const frame = JSON.parse(line) as Frame // Throws if anything but the protocol is on it.
      frames.push(frame)
      check.sentByAgent(frame)
    }
  })
  return frames
}

async function open(context: TestContext, maxLineBytes?: number): Promise<Pipe> {
  const rig = makeAcp(context, { script: [{ text: 'still here' }] })
  const [input, output] = [new PassThrough(), new PassThrough()]
  const check = new FrameCheck()
  const frames = framesFrom(output, check)
  const link = await serveAcp(
    rig.host,
    stdioStream(input, output, maxLineBytes === undefined ? {} : { maxLineBytes }),
  )
  context.after(() => {
    link.close()
    check.assertClean()
  })
  const next = (id: Frame['id']): Promise<Frame> =>
    until(() => frames.find(frame => frame.id === id && frame.method === undefined))
  const pipe: Pipe = {
    check,
    frames,
    next,
    write(text) {
      if (typeof text === 'string') for (const line of text.split('\n')) noteRequest(check, line)
      input.write(text)
    },
  }
  pipe.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 'init', method: 'initialize', params: { protocolVersion: 1 } })}\n`,
  )
  await next('init')
  return pipe
}

function noteRequest(check: FrameCheck, line: string): void {
  try {
    check.sentByClient(JSON.parse(line) as Frame) // What is no frame is sent all the same.
  } catch {}
}

/** After whatever was sent, the connection still makes a session and answers a prompt. */
async function assertUnharmed(pipe: Pipe): Promise<void> {
  pipe.write(
    `${JSON.stringify({ jsonrpc: '2.0', id: 'new', method: 'session/new', params: { cwd, mcpServers: [] } })}\n`,
  )
  const sessionId = (await pipe.next('new')).result?.['sessionId']
  const params = { sessionId, prompt: [{ type: 'text', text: 'hi' }] }
  pipe.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'ask', method: 'session/prompt', params })}\n`)
  assert.deepEqual((await pipe.next('ask')).result, { stopReason: 'end_turn' })
}

describe('a frame', () => {
  const wrong: [string, string | Buffer, number][] = [
    ['that is not JSON', '{"jsonrpc":\n', -32700],
    ['of bytes that are no text', Buffer.from([0xff, 0xfe, 0x00, 0x0a]), -32700],
    ['with a key twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"session/list"}\n', -32700],
    ['nested beyond reason', `${'['.repeat(100_000)}\n`, -32700],
    ['that is a batch', '[{"jsonrpc":"2.0","id":1,"method":"session/list"}]\n', -32600],
    ['that is a number', '17\n', -32600],
    ['of another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"session/list"}\n', -32600],
    ['with an id that is an object', '{"jsonrpc":"2.0","id":{},"method":"session/list"}\n', -32600],
  ]
  for (const [words, line, code] of wrong)
    test(
      cites(
        'ACP-BASE-02',
        'ACP-BASE-03',
        'ACP-BASE-04',
        'ACP-BASE-09',
        `${words} is ${code} and harms nothing`,
      ),
      async context => {
        const pipe = await open(context)
        pipe.write(line)
        assert.equal((await pipe.next(null)).error?.code, code)
        await assertUnharmed(pipe)
      },
    )

  test(cites('ACP-BASE-08', 'that is too long is skipped'), async context => {
    const pipe = await open(context, 4096)
    pipe.write(`{"x":"${'y'.repeat(20_000)}`)
    pipe.write(`${'y'.repeat(20_000)}"}\n`)
    const { error } = await pipe.next(null)
    assert.equal(error?.code, -32600)
    assert.match(error?.message ?? '', /4096 bytes/)
    await assertUnharmed(pipe)
  })

  test(
    cites(
      'ACP-BASE-05',
      'ACP-BASE-06',
      'ACP-BASE-10',
      'of an unknown method is refused, of an unknown notification ignored',
    ),
    async context => {
      const pipe = await open(context)
      for (const method of ['session/fork', 'nothing', '_vendor.example/thing', 'logout']) {
        pipe.write(`${JSON.stringify({ jsonrpc: '2.0', id: method, method, params: {} })}\n`)
        assert.equal((await pipe.next(method)).error?.code, -32601)
        pipe.write(`${JSON.stringify({ jsonrpc: '2.0', method: `${method}/told`, params: {} })}\n`)
      }
      pipe.write(
        '{"jsonrpc":"2.0","id":99,"result":{}}\n{"jsonrpc":"2.0","method":"session/cancel","params":7}\n\n \n',
      )
      await assertUnharmed(pipe)
    },
  )

  test(cites('ACP-BASE-07', 'with wrong parameters is refused'), async context => {
    const pipe = await open(context)
    const requests: [string, unknown][] = [
      ['session/new', { cwd }],
      ['session/new', { mcpServers: [] }],
      ['session/new', { cwd: 7, mcpServers: [] }],
      ['session/prompt', { sessionId: 'x' }],
      ['session/prompt', { sessionId: 'x', prompt: 'text' }],
      ['session/load', {}],
      ['session/set_mode', { sessionId: 'x' }],
      ['authenticate', {}],
      ['initialize', {}],
      ['initialize', { protocolVersion: 'one' }],
    ]
    for (const [index, [method, params]] of requests.entries()) {
      pipe.write(`${JSON.stringify({ jsonrpc: '2.0', id: index, method, params })}\n`)
      assert.equal((await pipe.next(index)).error?.code, -32602, `${method} ${JSON.stringify(params)}`)
    }
    await assertUnharmed(pipe)
  })

  test(
    cites('ACP-BASE-01', 'may come in pieces, several at once, with CR and in any script'),
    async context => {
      const pipe = await open(context)
      const frame = JSON.stringify({ jsonrpc: '2.0', id: 'ü\u{1f642}', method: 'session/list', params: {} })
      noteRequest(pipe.check, frame)
      for (const byte of Buffer.from(`${frame}\r\n`)) pipe.write(Buffer.from([byte]))
      assert.deepEqual((await pipe.next('ü\u{1f642}')).result, { sessions: [] })
    },
  )
})

test(cites('ACP-SESS-12', 'a client that closes its pipe in mid-turn cancels nothing'), async context => {
  const rig = makeAcp(context, { script: [{ text: 'thinking', hang: true }] })
  const [input, output] = [new PassThrough(), new PassThrough()]
  const frames = framesFrom(output, new FrameCheck())
  const link = await serveAcp(rig.host, stdioStream(input, output))
  const ask = (id: string, method: string, params: object): void =>
    void input.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
  ask('init', 'initialize', { protocolVersion: 1 })
  await until(() => frames.find(frame => frame.id === 'init'))
  ask('new', 'session/new', { cwd, mcpServers: [] })
  const made = await until(() => frames.find(frame => frame.id === 'new'))
  const sessionId = made.result?.['sessionId']
  assert.ok(typeof sessionId === 'string')
  ask('ask', 'session/prompt', { sessionId, prompt: [{ type: 'text', text: 'go' }] })
  await until(() => JSON.stringify(frames).includes('agent_message_chunk'))
  input.end()
  await link.closed
  await new Promise(resolve => setTimeout(resolve, 20))
  assert.equal((await summaryOf(rig, sessionId)).status, 'running')
  await rig.engine.command(refOf(sessionId), { do: 'cancel' })
})

// ---- the command ------------------------------------------------------------------------------------------------

const root = fileURLToPath(new URL('../../..', import.meta.url))
const bin = join(root, 'bin', 'turnwire.mjs')

const source = pathToFileURL(join(root, 'src', 'index.ts')).href
const config = `
import { defineConfig, scripted, tool } from '${source}'
console.log('a config that prints')
process.stdout.write('and writes\\n')
const mail = tool({ name: 'mail', description: 'Sends.', input: { type: 'object' }, run: () => { console.info('a tool that prints'); return 'sent' } })
const script = request => request.history.at(-1)?.role === 'user' ? { calls: [{ name: 'mail' }] } : { text: 'Done.' }
export default defineConfig({ agents: [{ name: 'first', model: scripted([]) }, { name: 'second', title: 'Second', model: scripted(script), tools: [mail] }] })
`

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'turnwire-acp-'))
  writeFileSync(join(path, 'turnwire.config.ts'), config)
  return path
}

function start(context: TestContext, path: string, ...args: string[]): ChildProcessWithoutNullStreams {
  const child = spawn(
    process.execPath,
    [bin, 'acp', '--agent', 'second', '--data', join(path, 'data'), ...args],
    { cwd: path },
  )
  context.after(() => child.kill('SIGKILL'))
  return child
}

describe('the command', () => {
  test(
    cites('ACP-BASE-01', 'ACP-BASE-12', 'writes nothing but the protocol, and ends with its input'),
    async context => {
      const path = folder()
      const child = start(context, path)
      const errors: string[] = []
      child.stderr.on('data', (chunk: Buffer) => errors.push(chunk.toString('utf8')))
      const check = new FrameCheck()
      const frames = framesFrom(child.stdout, check)
      const ask = (id: string, method: string, params: object): Promise<Frame> => {
        const frame = { jsonrpc: '2.0', id, method, params }
        noteRequest(check, JSON.stringify(frame))
        child.stdin.write(`${JSON.stringify(frame)}\n`)
        return until(() => frames.find(each => each.id === id && each.method === undefined))
      }
      const { result } = await ask('i', 'initialize', { protocolVersion: 1 })
      const info = result?.['agentInfo']
      assert.equal(isJsonObject(info) && info['title'], 'Second')
      const sessionId = (await ask('n', 'session/new', { cwd: path, mcpServers: [] })).result?.['sessionId']
      const prompt = ask('p', 'session/prompt', { sessionId, prompt: [{ type: 'text', text: 'send' }] })
      const permission = await until(() =>
        frames.find(frame => frame.method === 'session/request_permission'),
      )
      child.stdin.write(
        `${JSON.stringify({ jsonrpc: '2.0', id: permission.id, result: { outcome: { outcome: 'selected', optionId: 'allow' } } })}\n`,
      )
      assert.deepEqual((await prompt).result, { stopReason: 'end_turn' })
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.stdin.end()
      assert.equal(await ended, 0)
      check.assertClean()
      for (const words of ['a config that prints', 'and writes', 'a tool that prints'])
        assert.ok(errors.join('').includes(words), words)
    },
  )

  test(cites('ACP-SESS-12', 'killed while it asks, asks again in the next process'), async context => {
    const path = folder()
    const run = async (opening: { method: string; params: object }) => {
      const child = start(context, path)
      const frames = framesFrom(child.stdout, new FrameCheck())
      const send = (frame: object): void =>
        void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...frame })}\n`)
      send({ id: 'i', method: 'initialize', params: { protocolVersion: 1 } })
      await until(() => frames.find(frame => frame.id === 'i'))
      send({ id: 'o', ...opening })
      const opened = await until(() => frames.find(frame => frame.id === 'o'))
      return { child, frames, send, opened }
    }
    const first = await run({ method: 'session/new', params: { cwd: path, mcpServers: [] } })
    const sessionId = first.opened.result?.['sessionId']
    first.send({
      id: 'p',
      method: 'session/prompt',
      params: { sessionId, prompt: [{ type: 'text', text: 'send' }] },
    })
    const asked = await until(() => first.frames.find(frame => frame.method === 'session/request_permission'))
    first.child.kill('SIGKILL')
    const second = await run({ method: 'session/load', params: { sessionId, cwd: path, mcpServers: [] } })
    const again = await until(() =>
      second.frames.find(frame => frame.method === 'session/request_permission'),
    )
    assert.deepEqual(again.params, asked.params)
    second.send({ id: again.id, result: { outcome: { outcome: 'selected', optionId: 'allow' } } })
    await until(() => second.frames.find(frame => JSON.stringify(frame).includes('"Done."')))
  })

  test(cites('ACP-BASE-01', 'says in words what is wrong with its arguments'), () => {
    const path = folder()
    const { status, stderr, stdout } = spawnSync(process.execPath, [bin, 'acp', '--agent', 'nobody'], {
      cwd: path,
      encoding: 'utf8',
    })
    assert.equal(status, 1)
    assert.match(stderr, /There is no agent named "nobody". There are: first, second./)
    assert.equal(stdout, '')
  })
})

describe('acpx', () => {
  const acpx = join(root, 'node_modules', '.bin', 'acpx')

  function exec(policy: string): { status: number | null; frames: Frame[] } {
    const path = folder()
    const agent = `${process.execPath} ${bin} acp --agent second --data ${join(path, 'data')}`
    const { status, stdout } = spawnSync(
      acpx,
      ['--agent', agent, '--cwd', path, policy, '--format', 'json', '--timeout', '60', 'exec', 'send it'],
      { cwd: path, encoding: 'utf8', env: { ...process.env, HOME: path } },
    )
    assert.ok(readdirSync(join(path, 'data')).length > 0, 'the session is in the data folder')
    return {
      status,
      frames: stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as Frame),
    } // Its output is JSON lines.
  }

  test(cites('ACP-PERM-01', 'approves everything and gets its answer'), () => {
    const { status, frames } = exec('--approve-all')
    assert.equal(status, 0)
    assert.deepEqual(frames.at(-1)?.result, { stopReason: 'end_turn' })
    assert.ok(frames.some(frame => JSON.stringify(frame).includes('"completed"')))
  })

  test(cites('ACP-PERM-02', 'denies everything and says so with its exit code'), () => {
    const { status, frames } = exec('--deny-all')
    assert.equal(status, 5)
    assert.ok(frames.some(frame => JSON.stringify(frame).includes('"failed"')))
    assert.ok(!frames.some(frame => JSON.stringify(frame).includes('"completed"')))
  })
})
