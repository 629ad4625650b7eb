// The process that gets killed: a server on SQLite whose model writes a program. The effects of its tools are written outside
// the database. Run as `node programs.ts <folder>`; its first line is its address.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { scripted, startServer, type Tool, Turnwire, tool } from '../../src/index.ts'
import { announce } from '../announce.ts'

const code = `
  const paid = await Promise.all([1, 2].map(n => tools.pay({ n }).catch(error => error.outcome)))
  const sent = await tools.mail({ n: 3 })
  const rung = await tools.ring({ n: 4 })
  return [...paid, sent, rung]`

export function openPrograms(folder: string): Promise<Turnwire> {
  const effective = (name: string, trust: Tool['trust']): Tool =>
    tool({
      name,
      description: 'Leaves a trace outside the database.',
      input: { type: 'object', properties: { n: { type: 'integer' } } },
      trust,
      exposed: false,
      run: ({ n }) => {
        appendFileSync(join(folder, 'effects'), `${name} ${Number(n)}\n`)
        return `${name} ${Number(n)}`
      },
    })
  return Turnwire.open({
    data: folder,
    server: { log: 'error' },
    agents: [
      {
        name: 'helper',
        code: true,
        tools: [effective('pay', 'trusted'), effective('mail', 'ask')],
        model: scripted((_request, at) =>
          at === 0 ? { calls: [{ name: 'run_code', input: { code } }] } : { text: 'All done.' },
        ),
      },
    ],
  })
}

const folder = process.argv[2]
if (process.argv[1] === import.meta.filename && folder !== undefined) {
  const { url } = await startServer(await openPrograms(folder), { port: 0 })
  announce(url)
}
