// The sessions of record.ts in which agents work for each other.
import { LocalEngine, type Session } from '../../src/engine/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { agentTool, handOverTool, tool } from '../../src/tools/index.ts'
import { makeAgent, makeWorld, owner, plainSettings, type RigOptions, until } from '../engine/rig.ts'

const words = (text: string) => [{ type: 'text' as const, text }]
const usage = { input: 12, output: 7 }

/** An agent asks another one, whose call a person allows; then it hands the conversation over. */
export async function playAgents(world: NonNullable<RigOptions['world']>) {
  const mail = tool({
    name: 'mail',
    description: 'For a transcript.',
    input: { type: 'object', properties: { n: { type: 'integer' } } },
    trust: 'ask',
    run: () => 'sent',
  })
  const writer = {
    ...makeAgent({
      tools: [mail],
      model: scripted(({ history }) =>
        history.length === 1
          ? { calls: [{ name: 'mail', input: { n: 1 } }], usage }
          : { text: 'Sent.', usage },
      ),
    }),
    name: 'writer',
  }
  const helper = makeAgent({
    tools: [agentTool('writer'), handOverTool('writer')],
    script: [
      { calls: [{ name: 'ask_writer', input: { task: 'Write to Bo.' } }], usage },
      { calls: [{ name: 'hand_over_to_writer', input: {} }], usage },
    ],
  })
  const engine = new LocalEngine({
    store: memoryStore(),
    world: makeWorld(world),
    vault: { seal: text => text, open: text => text },
    agent: name => [helper, writer].find(agent => agent.name === name),
    log: () => {},
  })
  const settings = plainSettings
  const session: Session = await engine.sessions.create({
    owner,
    agent: 'helper',
    wire: 'test',
    settings,
    seed: [],
  })
  await until(session, () => session.say({ parts: words('go'), wire: 'test' }))
  const callId = session.state.batch.find(({ stage }) => stage === 'asking')?.part.id ?? ''
  const decisions = [{ callId, granted: true, by: owner, remember: true as const }]
  await until(session, () => session.respond({ results: [], decisions }))
  const worker = await engine.sessions.open(owner, session.state.workers?.[0] ?? '')
  return { session, worker, engine: engine.sessions }
}
