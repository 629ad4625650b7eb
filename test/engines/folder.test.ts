// One data folder, one engine: who has the folder, how others reach its engine, and what they notice when it changes hands.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { openFolderStore } from '../../src/data/data-place.ts'
import { ownVersion } from '../../src/data/version.ts'
import {
  type AttachedItem,
  type AttachedTool,
  type DeltaMode,
  type Engine,
  type FollowItem,
  LocalEngine,
  type Model,
  type SessionRef,
} from '../../src/engine/index.ts'
import { FolderEngine } from '../../src/engines/folder/folder-engine.ts'
import type { Recorded } from '../../src/language/events.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { tool } from '../../src/tools/index.ts'
import { makeAgent, makeWorld, type RigOptions } from '../engine/rig.ts'
import { tempFolder } from '../temp-folder.ts'
import { begin, collect, say } from './rig.ts'

function folderOf(t: TestContext, name = 'data'): string {
  const made = tempFolder(t, 'turnwire-folder-')
  const folder = join(made, name)
  mkdirSync(folder, { mode: 0o700, recursive: true })
  return folder
}

/** As another process on the folder would have it. */
function open(t: TestContext, folder: string, options: RigOptions = {}, graceMs = 500): FolderEngine {
  const engine = new FolderEngine({
    folder,
    version: ownVersion(),
    graceMs,
    log: () => {},
    openStore: () => openFolderStore(folder),
    startEngine: store => {
      const agent = makeAgent(options)
      return new LocalEngine({
        store,
        world: makeWorld(),
        vault: { seal: text => text, open: text => text },
        agent: name => (name === agent.name ? agent : undefined),
        agents: () => [{ agent }],
        log: () => {},
      })
    },
  })
  t.after(() => engine.close())
  return engine
}

function readAll(
  engine: Engine,
  ref: SessionRef,
  from: number,
  deltas: DeltaMode = 'none',
): Promise<FollowItem[]> {
  return collect(engine.follow(ref, { from, until: 'stop', deltas }))
}

const events = (items: readonly FollowItem[]): Recorded[] => items.filter(item => item.type === 'event')

function textIn(items: readonly FollowItem[]): string {
  return items
    .map(item => {
      if (item.type !== 'delta') return ''
      return item.delta.type === 'text' ? item.delta.text : item.delta.type === 'step.reset' ? '<reset>' : ''
    })
    .join('')
}

describe('a folder', () => {
  test('has one engine: the second process uses that of the first', async t => {
    const folder = folderOf(t)
    const first = open(t, folder, { script: [{ text: 'From the first.' }] })
    const second = open(t, folder, { script: [{ text: 'From the second.' }] })
    const ref = await begin(first)
    const { first: from } = await say(second, ref, 'Hi')
    const [here, there] = await Promise.all([readAll(first, ref, from), readAll(second, ref, from)])
    assert.deepEqual(events(there), events(here))
    assert.match(JSON.stringify(await second.history(ref, { get: 'entries' })), /From the first\./)
    assert.ok(await first.local())
    assert.equal(await second.local(), undefined)
  })

  test('lets only its owner in, and is left clean', async t => {
    const folder = folderOf(t)
    const engine = open(t, folder)
    await engine.describe()
    assert.equal(statSync(folder).mode & 0o777, 0o700)
    assert.equal(statSync(join(folder, 'engine.sock')).mode & 0o777, 0o600)
    assert.deepEqual(
      readdirSync(folder).filter(name => name.startsWith('.')),
      [],
    )
    await engine.close()
    assert.equal(existsSync(join(folder, 'engine.sock')), false)
  })

  test('may have a path that is too long for a socket', async t => {
    // A folder of its own: other programs have links in the shared one.
    const own = mkdtempSync(join(tmpdir(), 'turnwire-links-'))
    const { TMPDIR } = process.env
    process.env['TMPDIR'] = own
    t.after(() => {
      if (TMPDIR === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = TMPDIR
      rmSync(own, { recursive: true, force: true })
    })
    const folder = folderOf(t, 'x'.repeat(120))
    const first = open(t, folder)
    const ref = await begin(first)
    assert.equal((await open(t, folder).summary(ref)).id, ref.session)
    assert.deepEqual(
      readdirSync(own).filter(name => name.startsWith('tw-')),
      [],
      'no link is left behind',
    )
  })

  test('with a socket that a killed process left is taken', async t => {
    const folder = folderOf(t)
    writeFileSync(join(folder, 'engine.sock'), '')
    const engine = open(t, folder)
    assert.deepEqual((await engine.list(null, { limit: 1 })).rows, [])
    assert.equal(statSync(join(folder, 'engine.sock')).isSocket(), true)
  })

  test('is taken by another process when the one that has it closes', async t => {
    const folder = folderOf(t)
    const first = open(t, folder, { script: [{ text: 'One.' }] })
    const second = open(t, folder, { script: [{ text: 'Two.' }] })
    const ref = await begin(first)
    await second.summary(ref)
    await first.close()
    await assert.rejects(first.summary(ref), { code: 'stopping' })
    const { first: from } = await say(second, ref, 'Hi')
    assert.match(JSON.stringify(await readAll(second, ref, from)), /Two\./)
    assert.ok(await second.local())
  })
})

describe('a server', () => {
  test('takes the folder from a process that is none, which goes on as its client', async t => {
    const folder = folderOf(t)
    const chat = open(t, folder, { script: [{ text: 'From the chat.' }] })
    const ref = await begin(chat)
    const server = open(t, folder, { script: [{ text: 'From the server.' }] })
    await server.becomeServer()
    assert.ok(await server.local())
    const { first } = await say(chat, ref, 'Hi')
    assert.match(JSON.stringify(await readAll(chat, ref, first)), /From the server\./)
    assert.equal(await chat.local(), undefined)
  })

  test('is refused where another server has the folder', async t => {
    const folder = folderOf(t)
    await open(t, folder).becomeServer()
    await assert.rejects(open(t, folder).becomeServer(), {
      code: 'config_invalid',
      message: `A server (process ${process.pid}) has the data folder ${folder}. Stop it, or serve another folder with --data <folder>.`,
    })
  })

  test('gives the folder to its clients when it stops, and gets it back', async t => {
    const folder = folderOf(t)
    const chat = open(t, folder)
    const ref = await begin(chat)
    for (let round = 0; round < 3; round++) {
      const server = open(t, folder)
      await server.becomeServer()
      assert.equal((await chat.summary(ref)).id, ref.session)
      assert.equal(await chat.local(), undefined)
      await server.close()
      assert.equal((await chat.summary(ref)).id, ref.session)
      assert.ok(await chat.local())
    }
  })

  test('takes it from several processes at once', async t => {
    const folder = folderOf(t)
    const clients = [open(t, folder), open(t, folder), open(t, folder)]
    const ref = await begin(clients[0]!)
    for (const client of clients) await client.summary(ref)
    const server = open(t, folder)
    await Promise.all([server.becomeServer(), ...clients.map(client => client.summary(ref))])
    for (const client of clients) assert.equal((await client.summary(ref)).id, ref.session)
    assert.ok(await server.local())
    for (const client of clients) assert.equal(await client.local(), undefined)
  })
})

/** Says `begun` and then hangs, once; after that it answers. `begun` resolves when it was said. */
function hanging(begun: string, answer: string, said: () => void): Model {
  return {
    id: 'hanging',
    async respond(_request, watch, signal) {
      watch({ type: 'text', text: begun })
      said()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return { parts: [{ type: 'text', text: answer }], stop: 'end' }
    },
  }
}

describe('a turn goes on while the folder changes hands', () => {
  const shown: Record<Exclude<DeltaMode, 'none'>, string> = {
    raw: 'Hel<reset>',
    'take-back': 'Hel<reset>Hello',
    append: 'Hello',
    fail: 'Hello',
  }

  for (const [mode, text] of Object.entries(shown))
    test(`deltas: ${mode}`, async t => {
      const folder = folderOf(t)
      const begun = Promise.withResolvers<void>()
      const chat = open(t, folder, { model: hanging('Hel', '', begun.resolve) })
      const ref = await begin(chat)
      const { first } = await say(chat, ref, 'Hi')
      const items: FollowItem[] = []
      const reading = (async () => {
        const options = { from: first, until: 'stop', deltas: mode as DeltaMode } as const // A key of the record above.
        for await (const batch of chat.follow(ref, options)) items.push(...batch)
      })()
      await begun.promise
      while (textIn(items) === '') await pause(5)
      const server = open(t, folder, { script: [{ text: 'Hello' }] })
      await server.becomeServer()
      await (await server.local())?.recover()
      await reading
      // A reader of raw deltas gets those that happen while it reads.
      if (mode === 'raw') assert.ok(textIn(items).startsWith(text))
      else assert.equal(textIn(items), text)
      assert.deepEqual(
        events(items).map(({ seq, event }) => `${seq} ${event.type}`),
        ['2 turn.started', '3 model.answered', '4 turn.ended'],
      )
      assert.equal(items.at(-1)?.type, 'ended')
    })

  test('a call that runs has time to finish, and runs once', async t => {
    const folder = folderOf(t)
    const started = Promise.withResolvers<void>()
    let runs = 0
    const slow = tool({
      name: 'slow',
      description: 'Takes its time.',
      input: { type: 'object' },
      trust: 'trusted',
      run: async () => {
        runs += 1
        started.resolve()
        await pause(150)
        return 'finished'
      },
    })
    const script = [{ calls: [{ name: 'slow' }] }, { text: 'Done.' }]
    const chat = open(t, folder, { script, tools: [slow] }, 600_000)
    const ref = await begin(chat)
    const { first } = await say(chat, ref, 'Go')
    const reading = readAll(chat, ref, first)
    await started.promise
    const server = open(t, folder, { script, tools: [slow] })
    await server.becomeServer()
    await (await server.local())?.recover()
    const items = await reading
    assert.match(JSON.stringify(items), /"kind":"ok".*finished.*Done\./)
    assert.equal(runs, 1)
  })

  test('tools of a connection are attached to the new engine before the session goes on', async t => {
    const folder = folderOf(t)
    const read = tool({
      name: 'read',
      description: 'Reads.',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => '',
    })
    const editor = { ...read, run: undefined }
    const begun = Promise.withResolvers<void>()
    const acp = open(t, folder, { model: hanging('', '', begun.resolve) })
    const ref = await begin(acp)
    const kinds: string[] = []
    const offered = Promise.withResolvers<void>()
    void answer(acp, ref, [editor], item => {
      kinds.push(item.type)
      if (item.type === 'attached') offered.resolve()
    })
    await offered.promise
    const { first } = await say(acp, ref, 'Go')
    const reading = readAll(acp, ref, first)
    await begun.promise
    const model = scripted(({ tools }, at) => {
      assert.deepEqual(
        tools.map(each => each.name),
        ['read'],
      )
      return at === 0 ? { calls: [{ name: 'read' }] } : { text: 'Done.' }
    })
    const server = open(t, folder, { model })
    await server.becomeServer()
    await (await server.local())?.recover()
    assert.match(JSON.stringify(await reading), /A file\..*Done\./)
    assert.deepEqual(kinds, ['attached', 'run'])
  })

  async function answer(
    engine: Engine,
    ref: SessionRef,
    tools: AttachedTool[],
    seen: (item: AttachedItem) => void,
  ): Promise<void> {
    for await (const batch of engine.attach(ref, tools))
      for (const item of batch) {
        seen(item)
        if (item.type === 'run')
          await engine.report(ref, { run: item.run, output: { parts: [{ type: 'text', text: 'A file.' }] } })
      }
  }
})
