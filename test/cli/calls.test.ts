// Calls that may have taken effect, from the command line: listed, looked up with their tool, and undone.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { TurnwireConfig } from '../../src/index.ts'
import { Turnwire } from '../../src/library/turnwire.ts'
import { folder, turnwire } from './rig.ts'

const index = pathToFileURL(join(import.meta.dirname, '../../src/index.ts')).href

/** The tool runs past its deadline, and says what became of its call once the file `answer` has it. */
const config = `
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, scripted, tool } from '${index}'
const here = name => join(import.meta.dirname, name)
const pay = tool({
  name: 'pay',
  description: 'Pays.',
  input: { type: 'object' },
  trust: 'trusted',
  timeoutMs: 5,
  run: () => new Promise(() => {}),
  reconcile: () => (existsSync(here('answer')) ? { ran: readFileSync(here('answer'), 'utf8') } : 'unknown'),
  undo: (_input, _outcome, { undoes }) => {
    appendFileSync(here('undone'), undoes)
    return 'refunded'
  },
})
const model = scripted([{ calls: [{ name: 'pay' }] }, { text: 'Perhaps.' }], { whenOver: 'repeat-last' })
export default defineConfig({ agents: [{ name: 'clerk', model, tools: [pay] }] })
`

test('calls lists what is in doubt, asks the tool, and has a call undone once', async t => {
  const cwd = folder(t)
  const file = join(cwd, 'turnwire.config.ts')
  writeFileSync(file, config)
  const { default: made } = (await import(pathToFileURL(file).href)) as { default: TurnwireConfig }
  const runtime = await Turnwire.open({ ...made, data: join(cwd, '.turnwire') })
  const session = await runtime.session('clerk')
  assert.equal((await session.send('Pay.')).text, 'Perhaps.')
  const [doubt] = await session.doubts()
  const callId = doubt?.callId ?? ''
  await runtime.close()

  const calls = (...words: string[]) => turnwire(['calls', ...words], { cwd })
  assert.deepEqual(calls(session.id), { code: 0, stdout: `${callId}  pay\n`, stderr: '' })
  assert.equal(calls(session.id, 'check', callId).stdout, 'It is still not known whether it took effect.\n')
  const early = calls(session.id, 'undo', callId)
  assert.deepEqual([early.code, /Have it checked first/.test(early.stderr)], [1, true], early.stderr)
  writeFileSync(join(cwd, 'answer'), 'receipt 7')
  assert.equal(calls(session.id, 'check', callId).stdout, 'It took effect.\n')
  assert.match(calls(session.id).stdout, /^No call of this session/)
  assert.equal(calls(session.id, 'undo', callId).stdout, 'ok: refunded\n')
  assert.equal(readFileSync(join(cwd, 'undone'), 'utf8'), callId)
  const again = calls(session.id, 'undo', callId)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /undone/)
  assert.equal(readFileSync(join(cwd, 'undone'), 'utf8'), callId)

  assert.match(calls('sess_none').stderr, /sess_none/)
  for (const wrong of [[], [session.id, 'check'], [session.id, 'repeat', callId]]) {
    const { code, stderr } = calls(...wrong)
    assert.equal(code, 2)
    assert.match(stderr, /Say which: turnwire calls/)
  }
})
