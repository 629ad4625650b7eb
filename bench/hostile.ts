// P15: how long one turn of the event loop takes on the server's main thread while honest clients take turns and others
// send schemas that are costly to check against, with arguments to match.
import { Agent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { Json, JsonObject } from '../src/lib/json/index.ts'
import { limit, median, type Result } from './harness.ts'
import { join, tempFolder } from './parts.ts'
import { post, type Served, startTurnwire, type Ticks } from './served.ts'

const SECONDS = 6
const ROUNDS = 5
const HONEST = 32
const HONEST_PAUSE_MS = 100
const HOSTILE_PAUSE_MS = 50

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n))
const entries = <T>(count: number, make: (n: number) => [string, T]): Record<string, T> =>
  Object.fromEntries(times(count, make))
const list = (items: JsonObject): JsonObject => ({ type: 'object', properties: { list: { items } } })

function nested(levels: number): Json {
  let value: Json = {}
  for (let level = 0; level < levels; level += 1) value = { x: value }
  return value
}

/** The schema of a client's tool, and the arguments of the model's call. */
const attacks: { schema: JsonObject; value: Json }[] = [
  {
    schema: { type: 'object', patternProperties: entries(1_900, n => [`^a${n}$`, {}]) },
    value: entries(20_000, n => [`k${n}`, 1]),
  },
  {
    schema: { type: 'object', properties: { x: { oneOf: [{ $ref: '#' }, { $ref: '#' }] } } },
    value: nested(60),
  },
  {
    schema: list({ anyOf: times(40, n => ({ const: `x${n}` })) }),
    value: { list: times(20_000, n => n) },
  },
  {
    schema: { type: 'object', properties: { text: { pattern: '^([a-z]{1,50} ?)+$' } } },
    value: { text: 'a'.repeat(200_000) },
  },
]

const turn = { messages: [{ role: 'user', content: 'What is two and three?' }] }

/** Takes turns until the time is over. */
async function takeTurns(
  served: Served,
  agent: Agent,
  path: string,
  body: Json,
  pauseMs: number,
  until: number,
) {
  while (performance.now() < until) {
    await post({ agent, port: served.port, path, body })
    await setTimeout(2 * Math.random() * pauseMs)
  }
}

async function newSession(served: Served, agent: Agent, body: Json): Promise<string> {
  const created = await post({ agent, port: served.port, path: '/sessions', body })
  return `/sessions/${JSON.parse(created).sessionId}/turns`
}

export async function hostileClients(): Promise<Result> {
  const folder = tempFolder()
  const agent = new Agent({ keepAlive: true })
  const served = await startTurnwire('hostile.config.ts', join(folder.path, 'data'))
  const honest = await Promise.all(
    times(HONEST, () => newSession(served, agent, { agent: { name: 'bench' } })),
  )
  const load = async (isAttacked: boolean): Promise<Ticks> => {
    const hostile = await Promise.all(
      attacks.map(async ({ schema, value }) => {
        const tools = [{ name: 'own', description: 'Is run by the client.', parameters: schema }]
        const path = await newSession(served, agent, { agent: { name: 'obedient' }, tools })
        return { path, body: { messages: [{ role: 'user', content: JSON.stringify(value) }] } }
      }),
    )
    const until = performance.now() + SECONDS * 1000
    await served.ask('watchTicks')
    await Promise.all([
      ...honest.map(path => takeTurns(served, agent, path, turn, HONEST_PAUSE_MS, until)),
      ...(isAttacked ? hostile : []).map(({ path, body }) =>
        takeTurns(served, agent, path, body, HOSTILE_PAUSE_MS, until),
      ),
    ])
    return served.ask('ticks')
  }
  await load(true)
  const calm: Ticks[] = []
  const attacked: Ticks[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    calm.push(await load(false))
    attacked.push(await load(true))
  }
  agent.destroy()
  await served.stop()
  folder.remove()
  const worst = median(attacked.map(each => each.p999))
  return {
    trial: `CPU of the main thread between two ticks, ${HONEST} honest and ${attacks.length} hostile clients`,
    unit: 'ms',
    medians: {
      'honest clients alone, p99.9': median(calm.map(each => each.p999)),
      'with hostile clients, p99': median(attacked.map(each => each.p99)),
      'with hostile clients, p99.9': worst,
      'with hostile clients, worst': median(attacked.map(each => each.max)),
    },
    bars: [limit('P15', 'with hostile clients, p99.9', worst, 50, 'ms')],
  }
}
