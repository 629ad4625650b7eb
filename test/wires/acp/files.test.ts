// A workspace and a shell in an editor: differences while it asks, files while it runs, a terminal with live output. With the
// SDK's client, and with acpx, a client that nobody here wrote.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { shell, tool, workspace } from '../../../src/tools/index.ts'
import { cites } from '../../requirements/manifest.ts'
import { skip as noBubblewrap } from '../../tools/shell/bubblewrap.ts'
import { makeAcp, only, refOf } from './rig.ts'

const skip = existsSync('/proc/self/fd') ? false : 'files are confined on Linux only'

function folder(t: TestContext): string {
  const root = mkdtempSync(join(tmpdir(), 'turnwire-acp-files-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  return root
}

const patch = `*** Begin Patch
*** Update File: a.txt
@@
-one
+two
*** Add File: sub/b.txt
+new
*** End Patch`

describe('a workspace', { skip }, () => {
  test(
    cites('ACP-TOOL-07', 'ACP-TOOL-08', 'shows all files of a patch while it asks and when it is done'),
    async context => {
      const root = folder(context)
      writeFileSync(join(root, 'a.txt'), 'one\n')
      const script = [{ calls: [{ name: 'apply_patch', text: patch }] }, { text: 'ok' }]
      const rig = makeAcp(context, { script, tools: workspace({ root }) })
      const client = await rig.connect()
      await client.prompt(await client.newSession([], root), 'go')
      const diffs = [
        { type: 'diff', path: join(root, 'a.txt'), oldText: 'one\n', newText: 'two\n' },
        { type: 'diff', path: join(root, 'sub/b.txt'), oldText: null, newText: 'new\n' },
      ]
      assert.deepEqual(client.permissions[0]?.toolCall.content, diffs)
      assert.equal(client.permissions[0]?.toolCall.kind, 'edit')
      const updates = only(client.updates, 'tool_call_update')
      assert.ok(updates.some(({ status, locations }) => status == null && locations?.length === 2))
      assert.deepEqual(updates.at(-1)?.content, diffs)
      assert.equal(readFileSync(join(root, 'sub/b.txt'), 'utf8'), 'new\n')
    },
  )

  test(
    cites('ACP-TOOL-07', 'names the files that it works on, also when the session has another folder'),
    async context => {
      const root = folder(context)
      writeFileSync(join(root, 'a.txt'), 'one\n')
      const script = [
        { calls: [{ name: 'read_file', input: { path: 'a.txt' } }] },
        { calls: [{ name: 'write_file', input: { path: 'a.txt', content: 'two\n' } }] },
        { text: 'ok' },
      ]
      const rig = makeAcp(context, { script, tools: workspace({ root }) })
      const client = await rig.connect()
      await client.prompt(await client.newSession([], folder(context)), 'go')
      const shown = [...only(client.updates, 'tool_call'), ...only(client.updates, 'tool_call_update')]
      const paths = shown.flatMap(({ locations }) => (locations ?? []).map(({ path }) => path))
      assert.deepEqual([...new Set(paths)], [join(root, 'a.txt')])
      assert.deepEqual(
        client.permissions.flatMap(({ toolCall }) => toolCall.locations ?? []).map(({ path }) => path),
        [join(root, 'a.txt')],
      )
    },
  )

  test(
    cites('ACP-TOOL-07', 'a tool whose folder is not known is shown with absolute paths alone'),
    async context => {
      const input = { type: 'object', properties: { paths: { type: 'array', items: { type: 'string' } } } }
      const look = tool({ name: 'look', description: 'Looks.', input, trust: 'trusted', run: () => 'seen' })
      const script = [{ calls: [{ name: 'look', input: { paths: ['b.txt', '/x/c.txt'] } }] }, { text: 'ok' }]
      const rig = makeAcp(context, { script, tools: [look] })
      delete rig.host.folder
      const client = await rig.connect()
      await client.prompt(await client.newSession(), 'go')
      assert.deepEqual(
        only(client.updates, 'tool_call')[0]?.locations ??
          only(client.updates, 'tool_call_update')[0]?.locations,
        [{ path: '/x/c.txt' }],
      )
    },
  )
})

describe('a shell', { skip: noBubblewrap }, () => {
  test(cites('ACP-TERM-04', 'streams its output while it runs'), async context => {
    const root = folder(context)
    const script = [
      { calls: [{ name: 'shell', input: { commands: ['echo first; sleep 0.1; echo second; exit 4'] } }] },
      { text: 'ok' },
    ]
    const rig = makeAcp(context, { script, tools: [shell({ root })] })
    const client = await rig.connect({ capabilities: { _meta: { terminal_output: true } } })
    const id = await client.newSession([], root)
    await client.prompt(id, 'go')
    const metas = only(client.updates, 'tool_call_update').flatMap(({ _meta }) => _meta ?? [])
    const outputs = (metas as { terminal_output?: { data: string } }[]).flatMap(
      ({ terminal_output: output }) => output ?? [],
    )
    assert.equal(outputs.map(({ data }) => data).join(''), 'first\nsecond\n')
    assert.ok(JSON.stringify(metas).includes('"exit_code":4'))
    const settled = (await rig.engine.events(refOf(id), 0, 100)).find(
      ({ event }) => event.type === 'call.settled',
    )?.event
    const terminals = settled?.type === 'call.settled' ? settled.outcome.report?.terminals : undefined
    assert.equal(terminals?.[0]?.output, 'first\nsecond\n')
  })
})

test(cites('ACP-TOOL-07', 'acpx is shown the difference and approves it'), { skip }, context => {
  const root = folder(context)
  const project = join(import.meta.dirname, '..', '..', '..')
  writeFileSync(join(root, 'a.txt'), 'one\n')
  writeFileSync(
    join(root, 'turnwire.config.mjs'),
    `import { scripted, workspace } from ${JSON.stringify(join(project, 'src/index.ts'))}
export default { agents: [{ name: 'a', tools: workspace({ root: ${JSON.stringify(root)} }), model: scripted([
  { calls: [{ name: 'apply_patch', text: ${JSON.stringify(patch)} }] }, { text: 'done' } ]) }] }\n`,
  )
  const bin = join(project, 'bin', 'turnwire.mjs')
  const agent = `${process.execPath} ${bin} acp --config ${join(root, 'turnwire.config.mjs')} --data ${join(root, '.data')}`
  const { status, stdout, stderr } = spawnSync(
    join(project, 'node_modules', '.bin', 'acpx'),
    ['--agent', agent, '--cwd', root, '--approve-all', '--format', 'json', '--timeout', '60', 'exec', 'go'],
    { cwd: root, encoding: 'utf8', env: { ...process.env, HOME: root } },
  )
  assert.equal(status, 0, stderr)
  const asked = stdout.split('\n').find(line => line.includes('session/request_permission'))
  assert.ok(asked?.includes(`{"type":"diff","path":${JSON.stringify(join(root, 'a.txt'))}`), asked)
  assert.equal(readFileSync(join(root, 'a.txt'), 'utf8'), 'two\n')
})
