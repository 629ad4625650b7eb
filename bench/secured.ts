// P17: a turn with everything that an operator switches on for safety, against the same turn without: a policy of twenty rules,
// redaction, warrants after untrusted text, and a log that is signed for receipts. In the engine alone, and as a whole turn over AAP
// with the vendor over HTTP. fixtures/security.ts has the settings.
import { Agent } from 'node:http'
import { openReceiptKeys } from '../src/data/receipt-keys.ts'
import type { EnginePorts, OpenSessions } from '../src/engine/index.ts'
import { scripted } from '../src/models/scripted/index.ts'
import { createGate } from '../src/policy/index.ts'
import { type Prepare, turnsAtOnce, turnsServed } from './aap-turn.ts'
import { actingAdd, question, redact, rules } from './fixtures/security.ts'
import type { Bar, Trial, Variant } from './harness.ts'
import { begin, join, makeEngine, memoryStore, tempFolder, turn } from './parts.ts'
import { here, start, startTurnwire } from './served.ts'

const [plain, secured] = ['without', 'rules, redaction, warrants, receipts']
const bars: Bar[] = [{ id: 'P17', ours: secured, floor: plain, most: 1.25 }]

export async function securedTurns(): Promise<Trial[]> {
  return [inEngine(), await served()]
}

function inEngine(): Trial {
  const cycles = 2000
  const asking = { text: 'Let me add.', calls: [{ name: 'add', input: { a: 2, b: 3 } }] }
  const answering = { text: 'The sum is five, as you would expect.', chunk: 8 }
  const model = scripted(({ history }) => (history.at(-1)?.role === 'user' ? asking : answering), {
    position: 'counter',
  })
  const variant = (name: string, gate = createGate(), receipts?: EnginePorts['receipts']): Variant => {
    const engine = makeEngine(memoryStore(), model, [actingAdd], gate, receipts)
    return { name, run: () => play(engine, cycles) }
  }
  const keys = openReceiptKeys({ folder: undefined, given: 'a-key-for-trials-which-signs-nothing-else' })
  return {
    name: 'one cycle in memory with everything that security needs (CPU)',
    measure: 'cpu',
    units: cycles,
    rounds: 15,
    warmUps: 20,
    variants: [variant(plain), variant(secured, createGate({ rules, redact }, { mode: 'warrants' }), keys)],
    bars,
  }
}

async function play(engine: OpenSessions, cycles: number): Promise<void> {
  const session = await begin(engine)
  for (let index = 0; index < cycles; index += 1)
    await turn(session, delta => JSON.stringify(delta).length, question)
  // A call without a warrant would wait for a person.
  if (session.state.status !== 'idle') throw new Error(`The session is ${session.state.status}.`)
  // The signature of the last turns belongs to what is measured.
  await session.signer?.sign()
  await session.flushed()
  await engine.remove('bench', session.id)
}

/** The second turn of each session: the first has read an untrusted result. */
const secondTurn: Prepare = async send => {
  const { sessionId } = JSON.parse(await send('/sessions', { agent: { name: 'bench' } }))
  const messages = [{ role: 'user', content: question }]
  const say = (): Promise<string> => send(`/sessions/${sessionId}/turns`, { stream: 'delta', messages })
  await say()
  return say
}

async function served(): Promise<Trial> {
  const folder = tempFolder()
  const vendor = await start([here('fixtures/vendor.ts')])
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })
  const running = [vendor]
  const variant = async (name: string, security: string): Promise<Variant> => {
    const env = { VENDOR_URL: vendor.url, SECURITY: security }
    const server = await startTurnwire('aap.config.ts', join(folder.path, security), env)
    running.push(server)
    return turnsServed(name, { served: server, agent, prepare: secondTurn })
  }
  return {
    name: 'a whole turn over AAP with everything that security needs (CPU of the server)',
    measure: 'told',
    units: turnsAtOnce,
    rounds: 9,
    // A run plays each turn twice: half as many as for P16 compile as much.
    warmUps: 15,
    variants: [await variant(plain, 'off'), await variant(secured, 'on')],
    bars,
    async close() {
      agent.destroy()
      for (const each of running) await each.stop()
      folder.remove()
    },
  }
}
