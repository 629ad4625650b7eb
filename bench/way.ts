// The way of one request through the code: how many functions it enters, in how many files. V8 counts every call, so that the
// number does not depend on the machine, as times do. Two requests are counted: an AAP turn with one trusted tool, streamed and on
// disk; and a stateless Responses request, streamed. `npm run way` prints them, `npm run way -- --list` with every function.
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { anthropic, startServer, Turnwire, tool } from '../src/index.ts'
import { startDouble } from '../src/testing/index.ts'
import { join, tempFolder } from './parts.ts'

export type EnteredFunction = { file: string; name: string; count: number }
export type Way = { entries: number; functions: EnteredFunction[]; files: number }
/** `why`: what the number pays for, changed together with the number. */
export type RecordedWay = { entries: number; files: number; why: string }

/** A way may be longer than the recorded one by this factor, or shorter, in entries or files: other changes are recorded. */
export const mostChange = 1.1

export function recordedWays(): Record<string, RecordedWay> {
  return JSON.parse(readFileSync(new URL('./way.json', import.meta.url), 'utf8'))
}

/** Tells how a way differs from the recorded one; undefined if it does not, but for little. */
export function changeOfWay(
  name: string,
  counted: Pick<Way, 'entries' | 'files'>,
  recorded: RecordedWay | undefined,
): string | undefined {
  const record = `Record the new number in bench/way.json, and say there why it changed.`
  if (!recorded) return `The way "${name}" is not recorded. ${record}`
  for (const [key, what] of [
    ['entries', 'entries of functions'],
    ['files', 'files'],
  ] as const) {
    const change = counted[key] / recorded[key]
    const fromTo = `from ${recorded[key]} to ${counted[key]} ${what}`
    if (change > mostChange)
      return `The way "${name}" grew ${fromTo}. Shorten it: \`npm run way -- --list\` shows it. ${record}`
    if (change < 1 / mostChange) return `The way "${name}" shrank ${fromTo}. ${record}`
  }
  return undefined
}

const times = 8
const calls = [{ name: 'get_weather', input: { city: 'Paris' } }]
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

async function countWays(): Promise<Record<string, Way>> {
  const counting = await startCounting()
  const folder = tempFolder()
  const turns = Array.from({ length: times }, () => [{ calls }, { text: 'It rains.' }]).flat()
  const double = await startDouble({
    vendor: 'anthropic',
    script: [...turns, ...Array.from({ length: times }, () => ({ calls }))],
  })
  const weather = tool({
    name: 'get_weather',
    description: 'The weather in a city.',
    input: schema,
    readOnly: true,
    trust: 'trusted',
    run: () => 'It is 18 degrees.',
  })
  const model = anthropic({ model: 'claude-sonnet-4-5', baseUrl: double.url, apiKey: 'x' })
  const turnwire = await Turnwire.open({
    agents: [{ name: 'helper', model, tools: [weather] }],
    data: join(folder.path, 'data'),
    server: { log: 'silent' },
  })
  const server = await startServer(turnwire, { port: 0 })
  const post = (path: string, body: unknown): Promise<Response> =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  try {
    return {
      'aap turn': await shortest(counting, 'turn_stop', async () => {
        const agent = { name: 'helper', tools: [{ name: 'get_weather', trust: true }] }
        const created = await post('/sessions', { agent })
        const { sessionId } = await created.json()
        const messages = [{ role: 'user', content: 'weather in Paris?' }]
        return () => post(`/sessions/${sessionId}/turns`, { stream: 'delta', messages })
      }),
      'stateless request': await shortest(counting, 'response.completed', async () => {
        const tools = [{ type: 'function', name: 'get_weather', parameters: schema }]
        const body = { model: 'helper', store: false, stream: true, input: 'weather in Paris?', tools }
        return () => post('/v1/responses', body)
      }),
    }
  } finally {
    await server.stop()
    await double.close()
    folder.remove()
  }
}

/** A stream arrives in more or fewer reads, so the shortest of several ways counts, without the first. */
async function shortest(
  count: () => Promise<Way>,
  ending: string,
  prepare: () => Promise<() => Promise<Response>>,
): Promise<Way> {
  const ways: Way[] = []
  for (let time = 0; time < times; time += 1) {
    const ask = await prepare()
    await count()
    const text = await (await ask()).text()
    ways.push(await count())
    if (!text.includes(ending)) throw new Error(`The request failed: ${text.slice(0, 300)}`)
  }
  return ways.slice(1).sort((a, b) => a.entries - b.entries)[0]!
}

/** Gives a function that tells what was entered since it was called before. */
async function startCounting(): Promise<() => Promise<Way>> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const source = new URL('../src/', import.meta.url).href
  return async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage')
    const functions = result.flatMap(({ url, functions: all }) => {
      const file = url.startsWith(source) ? url.slice(source.length) : ''
      if (file === '' || file.startsWith('testing/')) return []
      const entered = all.map(({ functionName, ranges }) => ({ functionName, count: ranges[0]?.count ?? 0 }))
      return entered.flatMap(({ functionName: name, count }) => (count > 0 ? [{ file, name, count }] : []))
    })
    return {
      entries: functions.reduce((sum, { count }) => sum + count, 0),
      functions,
      files: new Set(functions.map(({ file }) => file)).size,
    }
  }
}

if (process.argv[1] === import.meta.filename) {
  const ways = await countWays()
  const recorded = recordedWays()
  let isChanged = false
  for (const [name, way] of Object.entries(ways)) {
    const { entries, functions, files } = way
    console.log(`${name}: ${entries} entries, ${functions.length} functions, ${files} files`)
    const change = changeOfWay(name, way, recorded[name])
    if (change !== undefined) console.log(`  ${change}`)
    isChanged ||= change !== undefined
    if (process.argv.includes('--list'))
      for (const { file, name: called, count } of functions.sort((a, b) => b.count - a.count))
        console.log(`  ${String(count).padStart(4)} ${file} ${called}`)
  }
  process.exit(isChanged ? 1 : 0)
}
