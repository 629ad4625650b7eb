// A program of the model's asks for an approval in the middle: on every wire it is asked, decided on any other, also after a
// restart, and the program goes on.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codeTool, tool } from '../../src/tools/index.ts'
import { type AllWires, allWires, wireDrivers } from './all-wires.ts'

const code = `
  const found = await Promise.all(['a', 'b'].map(q => tools.search({ q })))
  const sent = await tools.mail({ to: 'ana' })
  return [...found, sent].join(', ')`
const script = [
  { text: 'May I? ', calls: [{ name: 'run_code', input: { code } }] },
  { text: 'So be it.' },
  { text: 'Goodbye.' },
]

const word = (value: unknown): string => (typeof value === 'string' ? value : '')

function tools(runs: string[]) {
  const text = { type: 'object', properties: { q: { type: 'string' }, to: { type: 'string' } } }
  const ran = (words: string): string => {
    runs.push(words)
    return words
  }
  return [
    codeTool(),
    tool({
      name: 'search',
      description: 'Finds.',
      input: text,
      readOnly: true,
      trust: 'trusted',
      exposed: false,
      run: ({ q }) => ran(`found ${word(q)}`),
    }),
    tool({ name: 'mail', description: 'Sends.', input: text, run: ({ to }) => ran(`sent to ${word(to)}`) }),
  ]
}

type Message = { role: string; content?: unknown }

async function results(at: AllWires, sessionId: string): Promise<unknown[]> {
  const answer = await at.request('GET', `/sessions/${sessionId}/history?type=full`)
  const { history } = (await answer.json()) as { history: { full: Message[] } }
  return history.full.filter(({ role }) => role === 'tool').map(({ content }) => content)
}

for (const start of wireDrivers)
  test(`${start.name}: a program that asks is decided on every wire, and after a restart`, async t => {
    for (const decide of wireDrivers) {
      const runs: string[] = []
      const before = await allWires(t, { script, tools: tools(runs) })
      const first = await start.start(before, 'Mail Ana.')
      assert.equal(first.text, 'May I? ')
      assert.ok(first.asks, 'the call inside the program waits')
      const at = start === decide ? before : await before.restart({ tools: tools(runs) })
      const second = await decide.decide(at, first.sessionId, first.asks, true)
      assert.equal(second.text, 'So be it.', decide.name)
      assert.deepEqual(await results(at, first.sessionId), ['found a, found b, sent to ana'])
      assert.deepEqual(runs.toSorted(), ['found a', 'found b', 'sent to ana'])
      const third = await start.say(at, first.sessionId, 'Thanks.')
      assert.equal(third.text, 'Goodbye.')
    }
  })
