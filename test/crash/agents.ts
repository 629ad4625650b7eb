// The process that gets killed: a server on SQLite whose agent gives a task to another agent, which sends a mail and asks
// first. Mails are written outside the database. Run as `node agents.ts <folder>`; its first line is its address.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentTool, scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { announce } from '../announce.ts'

export function openAgents(folder: string): Promise<Turnwire> {
  const mail = tool({
    name: 'mail',
    description: 'Leaves a trace outside the database.',
    input: { type: 'object', properties: { n: { type: 'integer' } } },
    run: ({ n }) => {
      appendFileSync(join(folder, 'effects'), `mail ${Number(n)}\n`)
      return `mail ${Number(n)}`
    },
  })
  const once = (name: string, input: JsonObject, text: string) =>
    scripted((_request, at) => (at === 0 ? { calls: [{ name, input }] } : { text }))
  return Turnwire.open({
    data: folder,
    server: { log: 'error' },
    agents: [
      {
        name: 'helper',
        tools: [agentTool('writer', { description: 'Writes mails.' })],
        model: once('ask_writer', { task: 'Write to Ana.' }, 'All done.'),
      },
      { name: 'writer', tools: [mail], model: once('mail', { n: 1 }, 'Ana has mail.') },
    ],
  })
}

const folder = process.argv[2]
if (process.argv[1] === import.meta.filename && folder !== undefined) {
  const { url } = await startServer(await openAgents(folder), { port: 0 })
  announce(url)
}
