// The process that gets killed: a server on SQLite whose call two people have to allow. A header says who is there. Run as
// `node approvers.ts <folder>`; its first line is its address.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { announce } from '../announce.ts'

const folder = process.argv[2]
if (folder === undefined) throw new Error('name the folder')

const pay = tool({
  name: 'pay',
  description: 'Leaves a trace outside the database.',
  input: { type: 'object' },
  run: () => {
    appendFileSync(join(folder, 'effects'), 'paid\n')
    return 'paid'
  },
})

const turnwire = await Turnwire.open({
  data: folder,
  policy: {
    rules: [{ tool: 'pay', then: 'ask', approvers: { roles: ['finance'], notRequester: true, quorum: 2 } }],
  },
  server: {
    log: 'error',
    authenticate: request => {
      const name = request.headers.get('x-person')
      return name === null ? undefined : { owner: 'acme', name, roles: ['finance'] }
    },
  },
  agents: [
    {
      name: 'helper',
      tools: [pay],
      model: scripted(({ history }) =>
        history.at(-1)?.role === 'tool' ? { text: 'All done.' } : { calls: [{ name: 'pay', input: {} }] },
      ),
    },
  ],
})
const { url } = await startServer(turnwire, { port: 0 })
announce(url)
