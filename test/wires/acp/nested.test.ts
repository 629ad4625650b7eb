// Calls that programs and other agents make, for an editor that knows only the protocol: it answers what it is asked.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'
import { runtimeOf } from '../../../src/library/turnwire.ts'
import { type AllWires, allWires } from '../all-wires.ts'
import { isGranted, type NestedScene, nestedRig, nestedScenes, programScene } from '../nested-scenes.ts'
import { until } from '../rig.ts'
import { type ClientOptions, cwd, type TestClient, textOf } from './rig.ts'

const decide = ({ toolCall }: RequestPermissionRequest): Promise<RequestPermissionResponse> => {
  const optionId = isGranted({ name: toolCall.title ?? '', input: toolCall.rawInput }) ? 'allow' : 'reject'
  return Promise.resolve({ outcome: { outcome: 'selected', optionId } })
}
const undecided = (): Promise<RequestPermissionResponse> => new Promise(() => {})

/** An editor declares no tools of its own by name: these scenes need none. */
const scenes = nestedScenes.filter(({ calls }) => !JSON.stringify(calls).includes('clipboard'))

async function play(t: TestContext, scene: NestedScene, memory: 'with' | 'without'): Promise<void> {
  const ran: string[] = []
  const options = nestedRig(scene, ran)
  let at = await allWires(t, options)
  const first = await at.edit({ permission: memory === 'with' ? decide : undecided })
  const sessionId = await first.newSession()
  const prompt = first.prompt(sessionId, 'Go on.')
  if (memory === 'with') {
    assert.equal((await prompt).stopReason, 'end_turn')
    assertShownOnce(first)
  } else {
    prompt.catch(() => {})
    await until(() => first.permissions.length > 0)
    first.close()
    at = await at.restart(options)
    await reopen(at, sessionId)
  }
  assert.deepEqual(ran.toSorted(), scene.ran)
}

async function reopen(at: AllWires, sessionId: string): Promise<void> {
  const second = await at.edit({ permission: decide })
  await second.agent.request('session/load', { sessionId, cwd, mcpServers: [] })
  const { engine } = runtimeOf(at.turnwire)
  await until(async () => (await engine.summary({ owner: 'alice', session: sessionId })).status === 'idle')
  await until(() => textOf(second.updates).endsWith('All done.'))
  second.close()
}

/** Every call that was asked about was shown before, and each has one end. */
function assertShownOnce({ updates, permissions }: TestClient): void {
  const shown = updates.flatMap(update => (update.sessionUpdate === 'tool_call' ? [update.toolCallId] : []))
  assert.equal(new Set(shown).size, shown.length)
  for (const { toolCall } of permissions) assert.ok(shown.includes(toolCall.toolCallId))
  const ends = updates.flatMap(update =>
    update.sessionUpdate === 'tool_call_update' &&
    (update.status === 'completed' || update.status === 'failed')
      ? [update.toolCallId]
      : [],
  )
  assert.deepEqual(ends.toSorted(), shown.toSorted())
}

for (const scene of scenes)
  for (const memory of ['with', 'without'] as const)
    test(`ACP, ${memory} memory: ${scene.name}`, t => play(t, scene, memory))

test("ACP: a program uses the editor's own files, and asks before it writes one", async t => {
  const code = `
    const was = await tools.read_text_file({ path: 'a.txt' })
    await tools.write_text_file({ path: 'b.txt', content: was.toUpperCase() })
    return was`
  const scene = programScene(code)
  const at = await allWires(t, nestedRig(scene, []))
  const files = new Map([[`${cwd}/a.txt`, 'hello']])
  const capabilities = { fs: { readTextFile: true, writeTextFile: true } }
  const options: ClientOptions = { files, capabilities, permission: 'allow' }
  const editor = await at.edit(options)
  const { stopReason } = await editor.prompt(await editor.newSession(), 'Go on.')
  assert.equal(stopReason, 'end_turn')
  assert.deepEqual(
    editor.permissions.map(({ toolCall }) => toolCall.rawInput),
    [{ path: 'b.txt', content: 'HELLO' }],
  )
  assert.equal(files.get(`${cwd}/b.txt`), 'HELLO')
})
