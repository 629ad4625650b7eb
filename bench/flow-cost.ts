// What flow control costs: a turn that reads and acts with it and without, and the judgement of one call in a long session.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scripted, Turnwire, tool } from '../src/index.ts'
import type { FlowMode } from '../src/language/flow.ts'
import type { Trial } from './harness.ts'

const turns = 600

const input = { type: 'object', properties: { to: { type: 'string' }, body: { type: 'string' } } } as const
const body = 'Some words that a mail has. '.repeat(20)
const read = tool({
  name: 'read_mail',
  description: 'Reads.',
  input,
  readOnly: true,
  trust: 'trusted',
  run: () => body,
})
const send = tool({
  name: 'send_mail',
  description: 'Sends.',
  input,
  trust: 'trusted',
  flow: { output: 'trusted', args: { to: 'recipient', body: 'text' } },
  run: () => 'Sent.',
})
const to = 'anna@example.org'

/** Three steps in each turn: it reads, sends, and answers. */
const model = scripted(request => {
  const last = request.history.at(-1)
  if (last?.role === 'user') return { calls: [{ name: 'read_mail' }] }
  const isRead = last?.role === 'tool' && last.results[0]?.name === 'read_mail'
  return isRead
    ? { calls: [{ name: 'send_mail', input: { to, body: 'Friday is fine.' } }] }
    : { text: 'Done.' }
})

async function play(flow: FlowMode, sessions: number, data: string): Promise<void> {
  const turnwire = await Turnwire.open({
    agents: [{ name: 'clerk', model, tools: [read, send], flow }],
    data,
  })
  for (let number = 0; number < sessions; number += 1) {
    const session = await turnwire.session('clerk')
    for (let turn = 0; turn < turns / sessions; turn += 1) {
      const { status } = await session.send(`Tell ${to} about Friday`)
      if (status !== 'done') throw new Error(`A turn is ${status}.`)
    }
  }
  await turnwire.close()
}

export async function flowCost(): Promise<Trial[]> {
  const [on, off] = ['warrants', 'off'] as const
  const folder = mkdtempSync(join(tmpdir(), 'flow-cost-'))
  const trial = (name: string, sessions: number, data: string): Trial => ({
    name,
    measure: 'cpu',
    units: turns,
    // The code of either has to be compiled before it is compared.
    warmUps: 25,
    variants: [
      { name: off, run: () => play(off, sessions, data) },
      { name: on, run: () => play(on, sessions, data) },
    ],
    bars: [{ id: 'F7', ours: on, floor: off, most: 1.15 }],
  })
  return [
    {
      ...trial('turns of new sessions on disk that read untrusted text and act', 200, join(folder, 'data')),
      rounds: 5,
      close: () => rmSync(folder, { recursive: true, force: true }),
    },
    trial('turns of one session in memory that read untrusted text and act', 1, 'memory'),
    // The dearest case: a turn without a disk or a network, whose index serves no other turn.
    trial('turns of new sessions in memory that read untrusted text and act', turns, 'memory'),
  ]
}
