// Many programs at the same time: owners take turns, programs that only wait hold nobody, and large calls leave room for
// others on the event loop.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import type { ToolContext } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { codeTool, tool } from '../../../src/tools/index.ts'

const wait = tool({ name: 'wait', description: 'Waits.', input: { type: 'object' }, run: () => '' })

/** Runs a program whose calls are answered by `answer`. */
async function run(
  owner: string,
  code: string,
  answer: (text: string) => Promise<string>,
  signal = new AbortController().signal,
): Promise<string> {
  const call = async (_key: string, _name: string, text: string) => ({
    callId: 'call',
    outcome: {
      kind: 'ok' as const,
      parts: [{ type: 'text' as const, text: await answer(text) }],
      from: { source: 'client' as const },
    },
  })
  const nested: NonNullable<ToolContext['nested']> = {
    tools: [wait],
    since: 0,
    isWaiting: false,
    call,
    onWaiting() {},
    delegate: () => assert.fail('no agent is asked'),
    handOver: () => assert.fail('nobody takes over'),
  }
  return joinText((await codeTool().run({ code }, contextFor({ owner, signal, nested }))).parts)
}

test('programs that wait hold neither other owners nor their own, and come to the same end', async () => {
  const gate = Promise.withResolvers<void>()
  const calls: string[] = []
  const code = `
    const first = await tools.wait({ step: 1 })
    const rest = await Promise.all([tools.wait({ step: 2, first }), tools.wait({ step: 3 })])
    console.log('logged')
    return [first, ...rest, Math.random()].join(' ')`
  const answer = async (text: string): Promise<string> => {
    calls.push(text)
    await gate.promise
    return `<${JSON.parse(text).step}>`
  }
  const many = Array.from({ length: 20 }, () => run('eve', code, answer))
  // All of them have made their first call, though they are more than there are threads.
  while (calls.length < many.length) await new Promise(resolve => setTimeout(resolve, 5))
  assert.equal(await run('ann', 'return 1', answer), '1')
  assert.equal(await run('eve', 'return 2', answer), '2')
  gate.resolve()
  const ends = await Promise.all(many)
  assert.equal(new Set(ends).size, 1, 'each gave the same')
  assert.match(ends[0]!, /^Logged:\nlogged\n\n<1> <2> <3> 0\.\d+$/)
  assert.equal(calls.length, 3 * many.length, 'no call was made twice')
})

test('programs that compute leave threads to other owners', async () => {
  const done: string[] = []
  const code = 'let n = 0; for (let at = 0; at < 1e6; at++) n += at; return n'
  const many = Array.from({ length: 24 }, async () => {
    await run('eve', code, async () => '')
    done.push('eve')
  })
  await run('ann', 'return 1', async () => '')
  assert.ok(done.length < 13, `${done.length} of 24 came before`)
  await Promise.all(many)
})

test('a program that waits for a thread stops when its call does', async () => {
  const gate = Promise.withResolvers<string>()
  const stop = new AbortController()
  const busy = Array.from({ length: 12 }, () => run('eve', 'for (;;);', () => gate.promise, stop.signal))
  const late = run('eve', 'return 1', () => gate.promise, stop.signal)
  setImmediate(() => stop.abort(new Error('enough')))
  await assert.rejects(late, /stopped before it began/)
  await Promise.allSettled(busy)
  assert.equal(await run('eve', 'return 3', () => gate.promise), '3')
})

test('each large call of a program has a turn of the event loop for itself', async () => {
  let turns = 0
  const turn = (): void => {
    turns += 1
    next = setImmediate(turn)
  }
  let next = setImmediate(turn)
  const seen: number[] = []
  const code = `
    const text = 'x'.repeat(200_000)
    await Promise.all(Array.from({ length: 30 }, (_, n) => tools.wait({ n, text })))
    return 'done'`
  const said = await run('ann', code, async () => {
    seen.push(turns)
    return ''
  })
  clearImmediate(next)
  assert.equal(said, 'done')
  assert.equal(new Set(seen).size, 30, seen.join(' '))
})

test('no turn of the event loop takes more than one large call or result to or from a program', async t => {
  let turn = 0
  const count = (): void => {
    turn += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  t.after(() => clearImmediate(next))
  /** Characters that crossed in each turn. */
  const crossed = new Map<number, number>()
  const cross = (message: unknown): void => {
    const chars = JSON.stringify(message)?.length ?? 0
    crossed.set(turn, (crossed.get(turn) ?? 0) + chars)
  }
  // Both are called with their own `this` below.
  const emit = Reflect.get(Worker.prototype, 'emit') as (...args: unknown[]) => boolean
  const postMessage = Reflect.get(Worker.prototype, 'postMessage') as (message: unknown) => void
  t.mock.method(Worker.prototype, 'emit', function (this: Worker, name: string, ...args: unknown[]) {
    if (name === 'message') cross(args[0])
    return Reflect.apply(emit, this, [name, ...args])
  })
  t.mock.method(Worker.prototype, 'postMessage', function (this: Worker, message: unknown) {
    cross(message)
    return Reflect.apply(postMessage, this, [message])
  })
  const code = `
    const text = 'x'.repeat(1_000_000)
    const results = await Promise.all(Array.from({ length: 12 }, (_, n) => tools.wait({ n, text })))
    return results.map(result => result.length).join(' ')`
  const gate = Promise.withResolvers<void>()
  let made = 0
  const said = await run('ann', code, async () => {
    made += 1
    if (made === 12) gate.resolve()
    await gate.promise
    return 'y'.repeat(1_000_000)
  })
  assert.equal(said, Array.from({ length: 12 }, () => '1000000').join(' '))
  const most = Math.max(...crossed.values())
  assert.ok(most > 1_000_000 && most < 1_400_000, `${most} characters in one turn`)
})
