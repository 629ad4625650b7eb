// What is known of a tool that threw: by the model, by its author, by callers and by the server's log.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKey } from '../../src/callers/keys.ts'
import { type Outcome, scripted, startServer, Turnwire, tool } from '../../src/index.ts'

const broken = tool({
  name: 'broken',
  description: 'Breaks.',
  input: { type: 'object' },
  trust: 'trusted',
  run: () => {
    throw new Error('no answer from sk-abcdefghijklmnopqrstuv', { cause: new TypeError('the cable') })
  },
})
const defect = tool({
  name: 'defect',
  description: 'Has a defect.',
  input: { type: 'object' },
  trust: 'trusted',
  run: () => (undefined as unknown as { city: string }).city,
})

test('the author gets message, cause and stack, redacted; the model a sentence; owners no stack; the log no words of authors', async t => {
  const owner = newKey('ana')
  const operator = newKey('ops', true)
  const lines: string[] = []
  const turnwire = await Turnwire.open(
    {
      agents: [
        {
          name: 'a',
          model: scripted([
            { calls: ['broken', 'defect'].map(name => ({ name, input: {} })) },
            { text: 'done' },
          ]),
          tools: [broken, defect],
        },
      ],
      policy: { redact: ['secrets'] },
      data: 'memory',
      server: { keys: [owner.entry, operator.entry] },
    },
    { log: (_, message, fields) => void lines.push(JSON.stringify({ message, ...fields })) },
  )
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const session = await turnwire.session('a', { owner: 'ana' })
  const outcomes = new Map<string, Outcome<unknown>>()
  for await (const item of session.send('Go.'))
    if (item.type === 'result') outcomes.set(item.tool, item.outcome)

  const { parts = [], thrown } = outcomes.get('broken') ?? {}
  assert.match(JSON.stringify(parts), /The tool failed: no answer from/)
  assert.match(thrown?.message ?? '', /^Error: no answer from /)
  assert.deepEqual(thrown?.cause, ['the cable'])
  assert.match(thrown?.stack?.[0] ?? '', /thrown\.test\.ts/)
  assert.doesNotMatch(JSON.stringify([...outcomes]), /sk-abcdef/)
  assert.match(
    JSON.stringify(outcomes.get('defect')?.parts),
    /it has a defect \(TypeError: Cannot read properties of undefined \(reading 'city'\)\)/,
  )

  const events = async (key: string): Promise<string> => {
    const headers = { authorization: `Bearer ${key}` }
    const all = await Promise.all(
      ['events', 'export'].map(path =>
        fetch(`${server.url}/operator/sessions/${session.id}/${path}`, { headers }).then(answer =>
          answer.text(),
        ),
      ),
    )
    return all.join('\n')
  }
  assert.equal((await events(operator.key)).match(/"thrown"/g)?.length, 4)
  assert.doesNotMatch(await events(owner.key), /"thrown"|thrown\.test\.ts/)

  const stop = new AbortController()
  const aap = await fetch(`${server.url}/sessions/${session.id}/events`, {
    headers: { authorization: `Bearer ${owner.key}`, 'last-event-id': '0' },
    signal: stop.signal,
  })
  let shown = ''
  for await (const chunk of aap.body!) {
    shown += Buffer.from(chunk).toString()
    if (shown.includes('turn.ended')) break
  }
  stop.abort()
  assert.match(shown, /call\.settled/)
  assert.doesNotMatch(shown, /"thrown"|thrown\.test\.ts/)

  const log = lines.filter(line => line.includes('A tool threw')).join('\n')
  assert.match(log, /"tool":"broken","error":"Error","stack":\[".*thrown\.test\.ts/)
  assert.match(log, /"tool":"defect".*Cannot read properties of undefined/)
  assert.doesNotMatch(log, /no answer|the cable/)
})
