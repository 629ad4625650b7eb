// The tools of a server do not reach its data folder, wherever that folder lies: not its files, not the engine's socket.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Tool } from '../../src/engine/index.ts'
import { connectEngine, streamChannel } from '../../src/engines/socket/index.ts'
import type { Json } from '../../src/lib/json/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { Runtime } from '../../src/runtime.ts'
import { contextFor } from '../../src/testing/contracts/tool.ts'
import { shell, workspace } from '../../src/tools/index.ts'
import { skip } from '../tools/shell/bubblewrap.ts'

type Result = { stdout: string; stderr: string; exit_code: number }

function folderOf(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'turnwire-reach-'))
  t.after(() => {
    // A mount of a test keeps it from being removed, and would have the removal reach what is mounted.
    spawnSync('umount', [join(made, 'root/volume')])
    rmSync(made, { recursive: true, force: true })
  })
  return made
}

/** A server whose tools work in `root`, with its data in a folder there. */
async function serve(t: TestContext, root: string, data: string, more: Tool[] = []): Promise<Runtime> {
  const tools = [...workspace({ root }), ...more]
  const agent = { name: 'coder', model: scripted([{ text: 'Hi' }]), tools }
  const runtime = await Runtime.open({ data, agents: [agent] }, { log: () => {} })
  t.after(() => runtime.close())
  await runtime.engine.describe()
  assert.ok(runtime.vault)
  return runtime
}

const textOf = async (made: Tool, input: Json): Promise<string> =>
  JSON.stringify(await made.run(input, contextFor()))

async function commands(made: Tool, ...lines: string[]): Promise<Result[]> {
  const { structured } = await made.run({ commands: lines }, contextFor())
  return (structured as { results: Result[] }).results
}

for (const where of ['.turnwire', 'a/b/.turnwire'])
  test(`commands do not reach ${where} in their workspace`, { skip }, async t => {
    const root = folderOf(t)
    const data = join(root, where)
    const tool = shell({ root })
    await serve(t, root, data, [tool])
    writeFileSync(join(data, 'keys.json'), '[]')
    symlinkSync(where, join(root, 'link'))
    const attack = `import socket;s=socket.socket(socket.AF_UNIX);s.connect("${where}/engine.sock");print("in")`
    const results = await commands(
      tool,
      `cat ${where}/vault.key ${where}/keys.json link/vault.key; ls -A ${where} link`,
      `echo x > ${where}/keys.json; echo y > link/keys.json; mv ${where} c; mv a c; rm -rf ${where}; rm -rf a`,
      `find / -name vault.key -o -name engine.sock -o -name engine.secret 2>/dev/null`,
      `perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(Peer => "${where}/engine.sock") ? "in" : "out"' || python3 -c '${attack}'`,
    )
    assert.equal(results[0]?.stdout.replaceAll(/^(|.*:)\n/gm, ''), '')
    assert.equal(results[2]?.stdout, '')
    assert.ok(!results[3]?.stdout.includes('in'), results[3]?.stdout)
    assert.equal(readFileSync(join(data, 'keys.json'), 'utf8'), '[]')
    assert.ok(existsSync(join(data, 'vault.key')))
    const later = await commands(tool, `find . -type f; cat ${where}/vault.key`)
    assert.equal(later[0]?.stdout, '')
  })

test('commands do not reach it through a folder that they may read', { skip }, async t => {
  const base = folderOf(t)
  mkdirSync(join(base, 'root'))
  const tool = shell({ root: join(base, 'root'), readable: [base] })
  await serve(t, join(base, 'root'), join(base, 'data'), [tool])
  const [result] = await commands(tool, `cat ${base}/data/vault.key; ls -A ${base}/data; ls ${base}`)
  assert.equal(result?.stdout, 'data\nroot\n')
})

test('file tools do not reach it', async t => {
  const root = folderOf(t)
  const data = join(root, 'deep/.turnwire')
  await serve(t, root, data)
  symlinkSync('deep', join(root, 'link'))
  symlinkSync('deep/.turnwire/vault.key', join(root, 'key'))
  const before = readdirSync(data)
  const key = readFileSync(join(data, 'vault.key'), 'utf8')
  const tools = new Map<string, Tool>(
    workspace({ root, tools: ['read', 'list', 'search', 'write', 'move', 'delete', 'patch', 'editor'] }).map(
      each => [each.name, each],
    ),
  )
  const refused = async (name: string, input: Json): Promise<void> =>
    assert.rejects(async () => textOf(tools.get(name)!, input), {
      message: /data folder of this server, which tools do not reach/,
    })
  for (const path of ['deep/.turnwire', 'link/.turnwire', 'link/./.turnwire/../.turnwire', data]) {
    await refused('read_file', { path: `${path}/vault.key` })
    await refused('list_files', { path })
    await refused('search_files', { path, text: 'a' })
    await refused('write_file', { path: `${path}/keys.json`, content: '[]' })
    await refused('write_file', { path: `${path}/sub/new`, content: '' })
    await refused('move_file', { from: path, to: 'mine' })
    await refused('move_file', { from: `${path}/vault.key`, to: 'mine' })
    await refused('delete_file', { path: `${path}/vault.key` })
    await refused('apply_patch', `*** Begin Patch\n*** Delete File: ${path}/vault.key\n*** End Patch`)
    await refused('file_editor', { command: 'view', path: `${path}/vault.key` })
  }
  await refused('read_file', { path: 'key' })
  await refused('move_file', { from: 'deep', to: 'mine' })
  assert.ok(!(await textOf(tools.get('search_files')!, { text: key })).includes('vault.key:'))
  assert.ok(!(await textOf(tools.get('search_files')!, { glob: '*' })).includes('vault'))
  assert.ok(!(await textOf(tools.get('list_files')!, { depth: 5 })).includes('vault'))
  assert.deepEqual(readdirSync(data), before)
})

test('a start is refused where the tools work in the data folder itself', async t => {
  const base = folderOf(t)
  mkdirSync(join(base, 'data/work'), { recursive: true, mode: 0o700 })
  mkdirSync(join(base, 'root'))
  symlinkSync('data/work', join(base, 'link'))
  const start = (...tools: Tool[]) =>
    Runtime.open({
      data: join(base, 'data'),
      agents: [{ name: 'coder', model: scripted([]), tools }],
    })
  for (const root of ['data', 'data/work', 'link'])
    await assert.rejects(start(...workspace({ root: join(base, root), tools: ['read'] })), {
      code: 'config_invalid',
      message: /The tool "read_file" of the agent "coder" works in .*data.*Set "data" to another folder/,
    })
  for (const tool of [
    shell({ root: join(base, 'data/work') }),
    shell({ root: join(base, 'root'), readable: [join(base, 'data')] }),
  ])
    await assert.rejects(start(tool), { code: 'config_invalid', message: /gives commands .*data/ })
  const runtime = await start(...workspace({ root: base }))
  await runtime.close()
})

test('a tool that no start has seen refuses to work in the data folder', { skip }, async t => {
  const base = folderOf(t)
  await serve(t, base, join(base, 'data'))
  await assert.rejects(
    async () => shell({ root: join(base, 'data') }).run({ commands: ['ls'] }, contextFor()),
    {
      message: /Nothing was run: .*data folder/,
    },
  )
  const [read] = workspace({ root: join(base, 'data') })
  await assert.rejects(async () => read!.run({ path: 'vault.key' }, contextFor()), { message: /data folder/ })
})

test('a bind mount does not open it', { skip: mountProblem() || skip }, async t => {
  const base = folderOf(t)
  mkdirSync(join(base, 'root/volume'), { recursive: true })
  mkdirSync(join(base, 'data'), { mode: 0o700 })
  assert.equal(spawnSync('mount', ['--bind', join(base, 'data'), join(base, 'root/volume')]).status, 0)
  const tool = shell({ root: join(base, 'root') })
  await serve(t, join(base, 'root'), join(base, 'data'), [tool])
  assert.ok(existsSync(join(base, 'root/volume/vault.key')))
  const [result] = await commands(tool, 'ls -A volume; cat volume/vault.key')
  assert.equal(result?.stdout, '')
  const [read] = workspace({ root: join(base, 'root'), tools: ['read'] })
  await assert.rejects(async () => read!.run({ path: 'volume/vault.key' }, contextFor()), {
    message: /tools do not reach/,
  })
})

function mountProblem(): string | false {
  return process.getuid?.() === 0 ? false : 'only root can mount'
}

test('the engine answers on its socket only to those who know the secret of its folder', async t => {
  const base = folderOf(t)
  const data = join(base, 'data')
  await serve(t, base, data)
  const secret = readFileSync(join(data, 'engine.secret'), 'utf8')
  for (const [greeting, isKnown] of [
    [[], false],
    [[''], false],
    [['x'.repeat(secret.length)], false],
    [[secret], true],
  ] as const) {
    const channel = streamChannel(connect(join(data, 'engine.sock')))
    const peer = connectEngine(channel)
    const hello = peer.ask('hello', ...greeting)
    if (isKnown || greeting.length === 0) assert.match(JSON.stringify(await hello), /version/)
    else await assert.rejects(hello, { code: 'unauthorized' })
    const attempts = [
      peer.ask('describe'),
      peer.ask('reattached'),
      (async () => {
        // A stranger waits for the refusal, however long it takes.
        for await (const _ of peer.changes(isKnown ? AbortSignal.timeout(50) : undefined));
      })(),
    ]
    for (const attempt of attempts)
      if (isKnown) await attempt
      else await assert.rejects(attempt, { code: 'unauthorized' })
    if (!isKnown) await assert.rejects(peer.ask('handOver'), { code: 'unauthorized' })
    channel.close()
    await channel.closed
  }
})
