// Programs that a model wrote: what they can do, what they are told when something fails, and what waits for people.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Session } from '../../../src/engine/index.ts'
import { joinText } from '../../../src/language/content.ts'
import { type CodeOptions, codeTool, tool } from '../../../src/tools/index.ts'
import {
  begin,
  clientTool,
  eventsOf,
  makeRig,
  owner,
  type RigOptions,
  say,
  stopAll,
  until,
} from '../../engine/rig.ts'

after(stopAll)

const n = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }

function rigWith(code: string, options: CodeOptions = {}, over: RigOptions = {}) {
  const runs: string[] = []
  let [now, most] = [0, 0]
  const tools = [
    codeTool(options),
    tool({
      name: 'square',
      description: 'Squares a number.',
      input: n,
      output: { type: 'object', properties: { squared: { type: 'integer' } }, required: ['squared'] },
      readOnly: true,
      trust: 'trusted',
      run: async input => {
        const value = Number(input['n'])
        now += 1
        most = Math.max(most, now)
        await new Promise(resolve => setTimeout(resolve, 20))
        now -= 1
        runs.push(`square ${value}`)
        return { squared: value * value }
      },
    }),
    tool({
      name: 'mail',
      description: 'Sends.',
      input: n,
      trust: 'ask',
      run: input => {
        const value = Number(input['n'])
        runs.push(`mail ${value}`)
        return `sent ${value}`
      },
    }),
    tool({
      name: 'fails',
      description: 'Fails.',
      input: { type: 'object' },
      trust: 'trusted',
      run: () => {
        throw new Error('no luck')
      },
    }),
  ]
  const script = [{ calls: [{ name: 'run_code', input: { code } }] }, { text: 'Done.' }]
  const rig = makeRig({ tools, script, ...over })
  return { ...rig, runs, most: () => most }
}

export function resultOf(session: Session): { kind: string; text: string } {
  const last = session.state.entries.findLast(entry => entry.role === 'tool')
  assert.ok(last?.role === 'tool')
  const { outcome } = last.results[0]!
  return { kind: outcome.kind, text: joinText(outcome.parts) }
}

async function run(code: string, options: CodeOptions = {}): Promise<{ kind: string; text: string }> {
  const session = await begin(rigWith(code, options))
  await say(session, 'go')
  assert.equal(session.status, 'idle')
  return resultOf(session)
}

test('a program loops, filters, and makes calls at the same time', async () => {
  const rig = rigWith(`
    const all = await Promise.all([1, 2, 3, 4].map(n => tools.square({ n })))
    const odd = all.map(each => each.squared).filter(value => value % 2 === 1)
    return { odd, sum: odd.reduce((a, b) => a + b, 0) }`)
  const session = await begin(rig)
  await say(session, 'go')
  assert.deepEqual(resultOf(session), { kind: 'ok', text: '{"odd":[1,9],"sum":10}' })
  assert.equal(rig.most(), 4, 'the calls ran at the same time')
  const nested = (await eventsOf(rig, session)).filter(event => event.type === 'call.nested')
  assert.equal(nested.length, 4)
})

test('texts are returned as they are, logs are shown, and a program may return nothing', async () => {
  assert.deepEqual(await run(`console.log('a', { b: 1 }); return 'plain "text"'`), {
    kind: 'ok',
    text: 'Logged:\na {"b":1}\n\nplain "text"',
  })
  assert.deepEqual(await run(`const x = 1`), { kind: 'ok', text: 'The program returned nothing.' })
})

test('a failed call throws its reason, which a program can catch', async () => {
  const caught = await run(
    `try { await tools.fails() } catch (error) { return [error.name, error.outcome, error.tool, error.message] }`,
  )
  assert.match(caught.text, /^\["ToolError","error","fails","The tool failed: no luck"\]$/)
  const thrown = await run(`const a = 1\nawait tools.fails()\nreturn a`)
  assert.equal(thrown.kind, 'error')
  assert.match(thrown.text, /ToolError: The tool failed: no luck/)
})

test('invalid arguments, tools that are not there, and mistakes of the program are told with their line', async () => {
  const invalid = await run(
    `try { await tools.square({ n: 'x' }) } catch (e) { return e.outcome + ' ' + e.message }`,
  )
  assert.match(invalid.text, /^invalid The tool was not run: .*must be integer/s)
  assert.match((await run(`await tools.nothing()`)).text, /There is no tool named "nothing"/)
  assert.match(
    (await run(`const a = 1\nconst b = 2\nmissing()`)).text,
    /ReferenceError: .*\(line 3 of the program\)/,
  )
  assert.match((await run(`return (`)).text, /SyntaxError/)
})

test('approvals, edits and denials work inside a program, in parallel', async () => {
  const rig = rigWith(`
    const settled = await Promise.allSettled([tools.mail({ n: 1 }), tools.mail({ n: 2 }), tools.square({ n: 3 })])
    return settled.map(each => each.value ?? each.reason.outcome)`)
  const session = await begin(rig)
  await say(session, 'go')
  assert.equal(session.status, 'waiting')
  const asking = session.state.batch.filter(({ stage }) => stage === 'asking').map(({ part }) => part.id)
  assert.equal(asking.length, 2, 'both are asked about at once')
  const decide = (callId: string, more: object) =>
    until(session, () =>
      session.respond({ results: [], decisions: [{ callId, granted: true, by: owner, ...more }] }),
    )
  await decide(asking[1] ?? '', { granted: false })
  assert.equal(session.status, 'waiting')
  await decide(asking[0] ?? '', { edit: '{"n":7}' })
  assert.match(
    resultOf(session).text,
    /^The arguments of a call of mail were changed .*: \{"n":7\}\n\["sent 7","denied",\{"squared":9\}\]$/,
  )
  assert.deepEqual(rig.runs.toSorted(), ['mail 7', 'square 3'])
})

test('the client runs its own tools inside a program', async () => {
  const rig = rigWith(`return (await Promise.all(['a', 'b'].map(q => tools.mine({ q })))).join(' and ')`)
  const session = await begin(rig, { clientTools: [clientTool('mine')] })
  await say(session, 'go')
  for (const text of ['first', 'second']) {
    const [handed] = session.state.batch.filter(({ stage }) => stage === 'handed')
    const results = [{ callId: handed?.part.id ?? '', parts: [{ type: 'text' as const, text }] }]
    await until(session, () => session.respond({ results, decisions: [] }))
  }
  assert.equal(resultOf(session).text, 'first and second')
})

test('results are found by place and input, whatever order they come in', async () => {
  const rig = rigWith(`
    const said = []
    const one = async n => { said.push([n, await tools.mail({ n })]) }
    await Promise.all([1, 2, 3].map(one))
    return said.sort((a, b) => a[0] - b[0]).map(each => each[1])`)
  const session = await begin(rig)
  await say(session, 'go')
  for (const wanted of [3, 1, 2]) {
    const call = session.state.batch.find(({ text }) => text === `{"n":${wanted}}`)
    const decisions = [{ callId: call?.part.id ?? '', granted: true, by: owner }]
    await until(session, () => session.respond({ results: [], decisions }))
  }
  assert.equal(resultOf(session).text, '["sent 1","sent 2","sent 3"]')
  assert.deepEqual(rig.runs, ['mail 3', 'mail 1', 'mail 2'])
})

test('a program is the same in every run: the clock stands still, and random numbers repeat', async () => {
  const rig = rigWith(`
    const before = [Date.now(), new Date().getTime(), Math.random(), Math.random()]
    await tools.mail({ n: Math.floor(before[2] * 1000) })
    return [before, [Date.now(), new Date(5).getTime()]]`)
  const session = await begin(rig)
  await say(session, 'go')
  const sent = session.state.batch.find(({ stage }) => stage === 'asking')
  const decisions = [{ callId: sent?.part.id ?? '', granted: true, by: owner }]
  await until(session, () => session.respond({ results: [], decisions }))
  const [before, later] = JSON.parse(resultOf(session).text) as [number[], number[]]
  assert.equal(before[0], before[1])
  assert.equal(later[0], before[0])
  assert.equal(later[1], 5)
  assert.equal(rig.runs.length, 1, 'the second run made the same call')
})

test('only the named tools can be called', async () => {
  const { text } = await run(`return [Object.keys(tools), 'mail' in tools]`, { tools: ['square'] })
  assert.equal(text, '[["square"],false]')
})

test('a program that waits for nothing is ended', async () => {
  assert.match((await run(`await new Promise(() => {})`)).text, /waits for something that never happens/)
})

test('the thread that is kept ready has nothing of the program before', async () => {
  const leave = 'globalThis.left = 1; Object.prototype.left = 2; return typeof left'
  const codes = [leave, leave, 'return [typeof left, typeof ({}).left, typeof globalThis.left]']
  const answers: string[] = []
  for (const code of codes) answers.push((await run(code)).text)
  assert.deepEqual(answers, ['number', 'number', '["undefined","undefined","undefined"]'])
})
