// Prompts as commands, resources that a link attaches, and details of results, in an editor. The agent has prompts and resources
// of its own and those of a real MCP server.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { prompt, resource, scripted, Turnwire, tool, withDetails } from '../../../src/index.ts'
import { runtimeOf } from '../../../src/library/turnwire.ts'
import { connect, only, until } from './rig.ts'

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

const review = prompt({
  name: 'review',
  description: 'Reviews a file.',
  arguments: [{ name: 'file', required: true }],
  get: ({ file }) => `Review ${file}, please.`,
})
const rules = resource({ uri: 'notes://rules', name: 'Rules', read: () => 'Be kind.' })
const weigh = tool({
  name: 'weigh',
  description: 'Weighs.',
  input: { type: 'object' },
  trust: 'trusted',
  run: () => withDetails('3 kg', { grams: 3000 }),
})

async function open(t: TestContext) {
  /** The last entry of each request. */
  const heard: string[] = []
  const turnwire = await Turnwire.open(
    {
      agents: [
        {
          name: 'desk',
          tools: [weigh],
          prompts: [review],
          resources: [rules],
          model: scripted(request => {
            const last = JSON.stringify(request.history.at(-1))
            heard.push(last)
            return /weigh it/.test(last) && request.history.at(-1)?.role === 'user'
              ? { calls: [{ name: 'weigh', input: {} }] }
              : { text: 'Heard.' }
          }),
        },
      ],
      mcp: { all: { command: process.execPath, args: [everything, 'stdio'] } },
      data: 'memory',
    },
    { log: () => {} },
  )
  t.after(() => turnwire.close())
  const { engine } = runtimeOf(turnwire)
  const [info] = (await engine.describe()).agents
  assert.ok(info)
  const client = await connect(t, {
    engine,
    info,
    modelInfos: {},
    models: undefined,
    principal: { owner: 'local', name: 'local' },
    version: '1',
    secrets: {},
    mcp: { stdio: true, http: true },
    connectMcp: () => Promise.reject(new Error('not used')),
    log: () => {},
  })
  const said = (): string => heard.at(-1) ?? ''
  return { client, said, id: await client.newSession() }
}

test('prompts of the agent and of its servers are commands, and are said with their arguments', async t => {
  const { client, said, id } = await open(t)
  await until(() => only(client.updates, 'available_commands_update').length === 2)
  const commands = only(client.updates, 'available_commands_update')[1]?.availableCommands ?? []
  const own = commands.find(({ name }) => name === 'own:review')
  assert.deepEqual(own, { name: 'own:review', description: 'Reviews a file.', input: { hint: 'file=…' } })
  const simple = commands.find(({ name }) => name.startsWith('all:') && name.includes('simple'))
  assert.ok(simple, JSON.stringify(commands))
  await client.prompt(id, '/own:review file=a.ts')
  assert.match(said(), /Review a\.ts, please\./)
  assert.doesNotMatch(said(), /own:review/)
  await client.prompt(id, `/${simple.name}`)
  assert.doesNotMatch(said(), new RegExp(simple.name))
  // A missing argument is told, and nothing is said.
  const before = said()
  await assert.rejects(client.prompt(id, '/own:review'), /needs file/)
  assert.equal(said(), before)
})

test('a link to a resource that is listed brings what it holds; any other link stays a link', async t => {
  const { client, said, id } = await open(t)
  await client.prompt(id, '/resources')
  assert.match(JSON.stringify(client.updates), /notes:\/\/rules/)
  const link = (uri: string) => ({ type: 'resource_link' as const, uri, name: 'x' })
  await client.prompt(id, [{ type: 'text', text: 'Follow this.' }, link('notes://rules')])
  assert.match(said(), /Follow this\..*Be kind\./)
  await client.prompt(id, [link('http://169.254.169.254/latest'), link('notes://other')])
  assert.match(said(), /\[x\]\(http:\/\/169\.254\.169\.254\/latest\).*\[x\]\(notes:\/\/other\)/)
})

test('details of a result reach the editor, and not the model', async t => {
  const { client, said, id } = await open(t)
  await client.prompt(id, 'weigh it')
  const done = only(client.updates, 'tool_call_update').find(({ status }) => status === 'completed')
  assert.deepEqual(done?._meta, { 'turnwire/details': { grams: 3000 } })
  assert.match(said(), /3 kg/)
  const model = JSON.parse(said()) as { results: { outcome: { parts: unknown } }[] }
  assert.doesNotMatch(JSON.stringify(model.results.map(({ outcome }) => outcome.parts)), /3000/)
})
