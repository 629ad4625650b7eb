// P16: what a whole turn with one tool costs the process that serves it, the vendor behind HTTP: ours over AAP, in a new
// session, with everything on disk; and the same turn in a route of the AI SDK and of pi, which store nothing.
import { Agent } from 'node:http'
import type { Bar, Trial, Variant } from './harness.ts'
import { join, tempFolder } from './parts.ts'
import { cycleScript, installed } from './peers.ts'
import { here, post, type Served, start, startTurnwire } from './served.ts'

const clients = 8
/** How many turns are measured at a time. */
export const turnsAtOnce = 25 * clients
/** Of the vendor's answer, which comes in pieces of eight characters. */
const lastPiece = 'pect.'
const ours = 'turnwire, over AAP and on disk'

type Post = (path: string, body: unknown) => Promise<string>
/** Makes a turn ready, which does not count, and gives it. */
export type Prepare = (send: Post) => Promise<() => Promise<string>>

const aapTurn: Prepare = async send => {
  const { sessionId } = JSON.parse(await send('/sessions', { agent: { name: 'bench' } }))
  const messages = [{ role: 'user', content: cycleScript.question }]
  return () => send(`/sessions/${sessionId}/turns`, { stream: 'delta', messages })
}

const routeTurn: Prepare = async send => {
  const parts = [{ type: 'text', text: cycleScript.question }]
  return () => send('/cycle', { id: 'chat', messages: [{ id: 'm1', role: 'user', parts }] })
}

/** The CPU of the server for turns that are ready, a few clients at once. */
export function turnsServed(
  name: string,
  { served, agent, prepare }: { served: Served; agent: Agent; prepare: Prepare },
): Variant {
  const send: Post = (path, body) => post({ agent, port: served.port, path, body })
  return {
    name,
    async run() {
      const all = await Promise.all(Array.from({ length: turnsAtOnce }, () => prepare(send)))
      const before = await served.ask('cpu')
      const one = async (): Promise<void> => {
        for (let turn = all.pop(); turn; turn = all.pop()) {
          const answer = await turn()
          if (!answer.includes(lastPiece)) throw new Error(answer)
        }
      }
      await Promise.all(Array.from({ length: clients }, one))
      return (await served.ask('cpu')) - before
    },
  }
}

export async function wholeTurns(): Promise<Trial> {
  const folder = tempFolder()
  const vendor = await start([here('fixtures/vendor.ts')])
  const env = { VENDOR_URL: vendor.url }
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const running = [vendor]
  const variant = (name: string, served: Served, prepare: Prepare): Variant => {
    running.push(served)
    return turnsServed(name, { served, agent, prepare })
  }
  const turnwire = await startTurnwire('aap.config.ts', join(folder.path, 'data'), env)
  const variants = [variant(ours, turnwire, aapTurn)]
  const bars: Bar[] = []
  if (installed)
    for (const [name, program, most] of [
      ['AI SDK, nothing stored', 'peers/ai-sdk-server.mjs', 0.25],
      ['pi, nothing stored', 'peers/pi-server.mjs', 0.5],
    ] as const) {
      variants.push(variant(name, await start([here(program)], env), routeTurn))
      bars.push({ id: 'P16', ours, floor: name, most })
    }
  return {
    name: 'a whole turn with one tool, the vendor over HTTP (CPU of the server)',
    measure: 'told',
    units: turnsAtOnce,
    rounds: 9,
    warmUps: 30,
    variants,
    bars,
    async close() {
      agent.destroy()
      for (const served of running) await served.stop()
      folder.remove()
    },
  }
}
