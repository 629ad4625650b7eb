// Programs that attack: each is stopped or finds nothing, the process lives on, and the next program runs. T-28.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { joinText } from '../../../src/language/content.ts'
import { type CodeOptions, codeTool, tool } from '../../../src/tools/index.ts'
import { begin, eventsOf, makeRig, say, stopAll } from '../../engine/rig.ts'

after(stopAll)

const small: CodeOptions = { limits: { timeMs: 60_000, memoryMiB: 32, outputChars: 2_000, calls: 20 } }

let echoes = 0
const echo = tool({
  name: 'echo',
  description: 'Says it again. */ } evil',
  input: { type: 'object' },
  trust: 'trusted',
  readOnly: true,
  run: input => {
    echoes += 1
    return { said: input }
  },
})

async function attack(code: string, options = small) {
  const script = [{ calls: [{ name: 'run_code', input: { code } }] }, { text: 'Done.' }]
  const rig = makeRig({ tools: [codeTool(options), echo], script })
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(session.status, 'idle')
  const last = session.state.entries.findLast(entry => entry.role === 'tool')
  assert.ok(last?.role === 'tool')
  const { outcome } = last.results[0]!
  return { kind: outcome.kind, text: joinText(outcome.parts), rig, session }
}

const stopped: Record<string, string> = {
  'an endless loop': 'for (;;);',
  'an endless loop of promises': 'for (;;) await null',
  'an endless comparison while sorting': '[1, 2, 3].sort(() => { for (;;); })',
  'a pattern that never ends': `/^(a+)+$/.test('a'.repeat(40) + '!')`,
  'an endless loop in toJSON': 'return { toJSON() { for (;;); } }',
  'an endless loop in a getter of an error': `throw Object.defineProperty(new Error(''), 'message', { get() { for (;;); } })`,
}

for (const [name, code] of Object.entries(stopped))
  test(`${name} is stopped`, async () => {
    const { kind, text } = await attack(code, { limits: { ...small.limits, timeMs: 300 } })
    assert.deepEqual([kind, text], ['error', 'The program computed for more than 300 ms and was stopped.'])
  })

const used = 'The program used all of its 32 MiB of memory and cannot go on.'
/** Each program, and what the model is told. */
const bombs: Record<string, [code: string, told: string]> = {
  'arrays without end': [
    'const all = []; for (;;) all.push(new Array(10000).fill(1))',
    'InternalError: out of memory (line 1 of the program)',
  ],
  'a text that doubles': [
    `let text = 'x'; for (;;) text += text`,
    'InternalError: string too long (line 1 of the program)',
  ],
  'a huge buffer': [
    'return new Uint8Array(2 ** 31 - 1).length',
    'InternalError: out of memory (line 1 of the program)',
  ],
  'buffers that are kept': [
    'const all = []; for (;;) all.push(new ArrayBuffer(1 << 20))',
    'InternalError: out of memory (line 1 of the program)',
  ],
  'recursion without end': [
    'const deep = () => deep() + 1; return deep()',
    'RangeError: Maximum call stack size exceeded (line 1 of the program)',
  ],
  'a deeply nested value': [
    'let value = []; for (let at = 0; at < 1e6; at++) value = [value]; return value',
    used,
  ],
  'a chain of promises without end': [
    'const again = () => Promise.resolve().then(again); await again()',
    used,
  ],
  'a chain of promises without end, beside a call': [
    'const again = () => Promise.resolve().then(again); const endless = again(); await tools.echo(); await endless',
    used,
  ],
}

for (const [name, [code, told]] of Object.entries(bombs))
  test(`memory is bounded: ${name}`, async () => {
    const before = process.memoryUsage().rss
    const { kind, text } = await attack(code)
    assert.deepEqual([kind, text], ['error', told])
    assert.ok(process.memoryUsage().rss - before < 300 * 1024 * 1024)
  })

test('a program that frees memory goes on after it was refused more', async () => {
  const code = `
    let all = []
    try { for (;;) all.push(new ArrayBuffer(1 << 20)) } catch { all = [] }
    await tools.echo({ freed: true })
    return 'went on'`
  const { text } = await attack(code)
  assert.equal(text, 'went on')
})

test('nothing of the host can be reached', async () => {
  const code = `
    const names = ['process', 'require', 'module', 'Buffer', 'fetch', 'WebAssembly', 'setTimeout', 'setInterval', 'Worker',
      'XMLHttpRequest', 'navigator', 'Deno', 'Bun', 'SharedArrayBuffer', 'Atomics', 'performance', 'WeakRef']
    const found = names.filter(name => typeof globalThis[name] !== 'undefined')
    const constructed = ['process', 'require'].filter(name => {
      try {
        return new (tools.echo.constructor)('return typeof ' + name)() !== 'undefined'
      } catch {
        return false
      }
    })
    let imported = 'no'
    try {
      await import('node:fs')
      imported = 'yes'
    } catch {}
    return { found, constructed, imported }`
  const { text } = await attack(code)
  assert.equal(text, '{"found":[],"constructed":[],"imported":"no"}')
})

test('a program that breaks out of its function is still in the sandbox', async () => {
  const { text } = await attack(`})(); globalThis.escaped = typeof process; (async () => { return escaped`)
  assert.match(text, /^undefined$|SyntaxError|ReferenceError/)
})

test('changed prototypes hurt the program alone, and pollute nothing here', async () => {
  const code = `
    Object.prototype.isAdmin = true
    Array.prototype.push = () => { throw new Error('push') }
    Promise.prototype.then = () => { throw new Error('then') }
    JSON.stringify = () => '{"forged":true}'
    JSON.parse = () => ({ forged: true })
    Map.prototype.get = () => { throw new Error('get') }
    return await tools.echo({ ['__proto__']: { isAdmin: true }, constructor: { prototype: { isAdmin: true } } })`
  const { kind } = await attack(code)
  assert.ok(kind === 'ok' || kind === 'error')
  assert.equal(({} as Record<string, unknown>)['isAdmin'], undefined)
})

test('names like __proto__, then and constructor are no tools', async () => {
  const code = `
    const said = []
    for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'])
      try { await tools[name]({}) } catch (error) { said.push(error.message) }
    return [said.length, tools.then, Object.keys(tools)]`
  const { text } = await attack(code)
  assert.equal(text, '[5,null,["echo"]]')
})

test('output is bounded: what is returned, logged and thrown', async () => {
  const returned = await attack(`return 'x'.repeat(1e6)`)
  assert.match(returned.text, /returned 1000002 characters; 2000 are allowed/)
  const logged = await attack(`for (let at = 0; at < 1000; at++) console.log('y'.repeat(100))`)
  assert.ok(logged.text.length < 3_000)
  const thrown = await attack(`throw new Error('z'.repeat(1e6))`)
  assert.ok(thrown.text.length < 8_000)
})

test('the number of calls is bounded, whatever the program does with refusals', async () => {
  echoes = 0
  const code = `
    let refused = 0
    for (let at = 0; at < 2000; at++) tools.echo({ at }).catch(() => { refused++ })
    await tools.echo({ last: true }).catch(() => {})
    await null
    return refused`
  const { text, rig, session } = await attack(code)
  assert.equal(text, '1980')
  assert.ok(echoes <= 20)
  const nested = (await eventsOf(rig, session)).filter(event => event.type === 'call.nested')
  assert.equal(nested.length, 20)
})

test('the turn’s own limit ends a program that goes on calling', async () => {
  const code = `for (let n = 0; ; n++) try { await tools.echo({ n }) } catch { if (n > 3000) return 'never' }`
  const limits = { ...makeRig().agent.limits, calls: 10 }
  const script = [{ calls: [{ name: 'run_code', input: { code } }] }, { text: 'Done.' }]
  const options = { limits: { calls: 10_000, timeMs: 60_000 } }
  const rig = makeRig({ tools: [codeTool(options), echo], script, agent: { limits } })
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(session.state.lastStop?.limit, 'calls')
  assert.ok((await eventsOf(rig, session)).length < 60)
})

test('an input of a call may be large, but not without end', async () => {
  const { text } = await attack(
    `return await tools.echo({ text: 'x'.repeat(2e6) }).catch(error => error.message)`,
  )
  assert.match(text, /may have 1048576 characters/)
})

test('a cancelled turn ends the sandbox at once', async () => {
  const script = [{ calls: [{ name: 'run_code', input: { code: 'for (;;);' } }] }, { text: 'Done.' }]
  const rig = makeRig({ tools: [codeTool({ limits: { timeMs: 60_000 } })], script })
  const session = await begin(rig)
  await session.say({ parts: [{ type: 'text', text: 'go' }], wire: 'test' })
  while (session.driver.callsRunning === 0) await new Promise(resolve => setTimeout(resolve, 5))
  await session.cancel()
  await session.driver.returned()
  assert.equal(session.status, 'idle')
})
