// Plays one whole tool loop with every client program and prints a table. Not part of the tests: it installs a gigabyte.
//   npm run test:clients                            every client, in front of Anthropic's double
//   npm run test:clients -- codex gemini            only those whose name has one of the words
//   npm run test:clients -- --model=openai-chat     in front of another double
//   npm run test:clients -- --record opencode       also writes its requests to fixtures, for the test that sends them again
import { mkdirSync, writeFileSync } from 'node:fs'
import { clients, play } from './clients.ts'
import { recordBefore } from './record.ts'
import { serveClients, type Upstream, upstreams } from './server.ts'

const words = process.argv.slice(2).filter(word => !word.startsWith('--'))
const asked = process.argv.find(word => word.startsWith('--model='))?.slice('--model='.length) ?? 'anthropic'
if (!Object.hasOwn(upstreams, asked)) {
  console.error(`There is no double "${asked}": use one of ${Object.keys(upstreams).join(', ')}.`)
  process.exit(1)
}
const chosen = clients.filter(
  ({ name }) => words.length === 0 || words.some(word => name.toLowerCase().includes(word.toLowerCase())),
)
const records = process.argv.includes('--record')
const fixtures = new URL('./fixtures/', import.meta.url)
let failed = 0
const row = (...cells: string[]): void =>
  console.log(cells.map((cell, at) => cell.padEnd([18, 34, 18, 8][at] ?? 0)).join(' '))
row('client', 'version', 'wire', 'result', 'why')
for (const client of chosen) {
  // Each has a server of its own, so that a failure is no other client's.
  const server = await serveClients(asked as Upstream) // It was looked up above.
  const recorder = records ? await recordBefore(server.url) : undefined
  const why = await play(client, recorder?.url ?? server.url).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  if (why !== undefined) failed += 1
  const refused = why === undefined ? [] : server.refusals().map(each => `the double refused: ${each}`)
  row(
    client.name,
    client.packages[0],
    client.wire,
    why === undefined ? 'passed' : 'FAILED',
    [why ?? '', ...refused].join(' | '),
  )
  recorder?.stop()
  if (recorder && why === undefined) {
    mkdirSync(fixtures, { recursive: true })
    const name = client.name.toLowerCase().replaceAll(/\W+/g, '-')
    const text = JSON.stringify({ client: client.packages[0], requests: recorder.requests }, null, 1)
    writeFileSync(new URL(`${name}.json`, fixtures), `${text}\n`)
  }
  await server.stop()
}
process.exit(failed > 0 ? 1 : 0)
