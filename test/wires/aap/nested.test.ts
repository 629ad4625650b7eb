// Calls that programs and other agents make, for a client that knows only the protocol.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cites } from '../../requirements/manifest.ts'
import {
  clipboardText,
  isGranted,
  type NestedScene,
  nestedRig,
  nestedScenes,
  questionScenes,
} from '../nested-scenes.ts'
import { rig } from '../rig.ts'
import { type Mode, ProtocolClient, type Version } from './protocol-client.ts'

const answering = { runTool: () => clipboardText, isGranted }
const serverTools = [{ name: 'mail', trust: false }]

type Way = { version: Version; mode: Mode; memory: 'stream' | 'full' | 'compacted'; restarts?: true }

const ways: Way[] = [
  { version: 3, mode: 'message', memory: 'stream' },
  { version: 3, mode: 'delta', memory: 'full' },
  { version: 3, mode: 'none', memory: 'compacted', restarts: true },
  { version: 3, mode: 'delta', memory: 'stream', restarts: true },
  { version: 2, mode: 'message', memory: 'stream' },
  { version: 2, mode: 'none', memory: 'full', restarts: true },
  { version: 1, mode: 'none', memory: 'full' },
  { version: 1, mode: 'delta', memory: 'stream', restarts: true },
]

async function play(t: Parameters<typeof rig>[0], scene: NestedScene, way: Way): Promise<void> {
  const ran: string[] = []
  const options = nestedRig(scene, ran)
  let at = await rig(t, options)
  const client = new ProtocolClient(at, way.version, way.mode, answering)
  const restart = async () => {
    at = await at.restart(options)
    return at
  }
  const first = await client.start('Go on.', serverTools)
  const last = await client.finish(first, way.memory, way.restarts && restart)
  assert.equal(last.stop, 'end_turn')
  assert.deepEqual(ran.toSorted(), scene.ran)
  // It was asked about what policy or a tool asks about, and about nothing that runs already.
  assert.deepEqual(
    client.asked.filter(name => !(scene.asks ?? ['mail']).includes(name)),
    [],
  )
  const results = client.transcript.filter(({ role }) => role === 'tool').map(({ content }) => content)
  for (const result of scene.results)
    assert.ok(results.includes(result), `${result} in ${JSON.stringify(results)}`)
  const seeded = await at.request('POST', '/aap/v3/sessions', {
    agent: { name: 'helper' },
    messages: client.transcript,
  })
  assert.equal(seeded.status, 201, `what the client kept is a history: ${await seeded.text()}`)
}

for (const scene of [...nestedScenes, ...questionScenes])
  test(
    cites(
      'AAP-CALL-32',
      'AAP-CALL-34',
      'AAP-HIST-12',
      `${scene.name}: a client of the plain protocol answers all of it`,
    ),
    async t => {
      for (const way of ways)
        await t.test(Object.values(way).join(' '), async t => {
          await play(t, scene, way)
        })
    },
  )

const program: NestedScene = nestedScenes.find(({ name }) => name.startsWith('a program waits'))!
type Refused = { error: string; code: string }

test(
  cites('AAP-CALL-33', 'a permission for a program that runs is not needed, and a refusal names what waits'),
  async t => {
    const ran: string[] = []
    const at = await rig(t, nestedRig(program, ran))
    const client = new ProtocolClient(at, 3, 'none', answering)
    const first = await client.start('Go on.', serverTools)
    const answers = client.fromStream(first)
    const shown = await at.request('GET', `/aap/v3/sessions/${client.session}/history?type=full`)
    const { history } = (await shown.json()) as {
      history: { full: { role: string; content: { type: string; name: string; toolCallId: string }[] }[] }
    }
    const calls = history.full[1]!.content.filter(({ type }) => type === 'tool_use')
    assert.deepEqual(
      calls.map(({ name }) => name),
      ['run_code', 'clipboard', 'mail', 'mail'],
    )
    const [parent, own, mail] = calls.map(({ toolCallId }) => toolCallId)
    const refused = async (message: object): Promise<Refused> => {
      const body = { messages: [message] }
      const answer = await at.request('POST', `/aap/v3/sessions/${client.session}/turns`, body)
      assert.equal(answer.status, 409)
      return (await answer.json()) as Refused
    }
    const needless = { role: 'tool_permission', toolCallId: parent!, granted: true }
    for (const [message, code] of [
      [needless, 'already_decided'],
      [{ ...needless, granted: false }, 'already_decided'],
      [{ role: 'tool', toolCallId: parent!, content: 'x' }, 'wrong_party'],
    ] as const) {
      const { error, code: given } = await refused(message)
      assert.equal(given, code)
      assert.match(error, /is at work and takes no answer/)
      assert.ok(
        error.includes(`"${own}" (clipboard) for its result, "${mail}" (mail) for a permission`),
        error,
      )
    }
    assert.equal((await client.send([needless, ...answers])).stop, 'end_turn')
    assert.deepEqual(ran.toSorted(), program.ran)
  },
)

test(cites('AAP-CALL-32', 'a request that is repeated shows the same calls and results'), async t => {
  const at = await rig(t, nestedRig(program, []))
  const client = new ProtocolClient(at, 3, 'none', answering)
  const messages = client.fromStream(await client.start('Go on.', serverTools))
  const send = () =>
    at.request(
      'POST',
      `/aap/v3/sessions/${client.session}/turns`,
      { messages },
      { headers: { 'Idempotency-Key': 'once' } },
    )
  const answer = await (await send()).text()
  assert.match(answer, /"name":"run_code"/)
  assert.equal(await (await send()).text(), answer)
})

test(cites('AAP-CALL-32', 'a user message in place of answers ends what a program waits for'), async t => {
  const at = await rig(t, nestedRig(program, []))
  const client = new ProtocolClient(at, 3, 'message', answering)
  await client.start('Go on.', serverTools)
  const next = await client.send([{ role: 'user', content: 'Never mind.' }])
  assert.equal((await client.finish(next, 'stream')).stop, 'end_turn')
})
