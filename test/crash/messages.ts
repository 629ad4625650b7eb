// The process that gets killed: a server on SQLite whose turn waits for the application while messages come. Run as
// `node messages.ts <folder>`; its first line is its address.
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { announce } from '../announce.ts'

const folder = process.argv[2]
if (folder === undefined) throw new Error('name the folder')

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object' },
  readOnly: true,
  trust: 'trusted',
  exposed: false,
  run: () => 'seen',
})

/** Runs until it is stopped. It may run again, and so does no harm when it is. */
const wait = tool({
  name: 'wait',
  description: 'Waits.',
  input: { type: 'object' },
  readOnly: true,
  trust: 'trusted',
  exposed: false,
  run: (_input, { signal }) =>
    new Promise(resolve => signal.addEventListener('abort', () => resolve('stopped'))),
})

const first = {
  go: { calls: [{ name: 'look' }, { name: 'ring' }] },
  'wait here': { calls: [{ name: 'wait' }, { name: 'ring' }] },
}

const turnwire = await Turnwire.open({
  data: folder,
  server: { log: 'error' },
  agents: [
    {
      name: 'helper',
      tools: [look, wait],
      model: scripted(({ history }) => {
        const last = history.at(-1)
        const said = last?.role === 'user' && last.parts[0]?.type === 'text' ? last.parts[0].text : ''
        return said === 'go' || said === 'wait here' ? first[said] : { text: `Heard ${said}.` }
      }),
    },
  ],
})
const { url } = await startServer(turnwire, { port: 0 })
announce(url)
