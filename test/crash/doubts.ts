// The process that gets killed: a server on SQLite whose tool loses its connection, can say what became of a call, and can undo it. Its
// effects are written outside the database. Run as `node doubts.ts <folder>`; its first line is its address.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { scripted, startServer, Turnwire, tool } from '../../src/index.ts'
import { Unanswered } from '../../src/lib/net/unanswered.ts'
import { announce } from '../announce.ts'

const folder = process.argv[2] ?? ''
if (folder === '') throw new Error('name the folder')
const effects = join(folder, 'effects')
const write = (line: string): void => appendFileSync(effects, `${line}\n`)
const seen = (): string => (existsSync(effects) ? readFileSync(effects, 'utf8') : '')

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  input: { type: 'object' },
  trust: 'trusted',
  exposed: false,
  run: async (_input, { idempotencyKey, refer }) => {
    await refer(`payment of ${idempotencyKey}`)
    write(`paid ${idempotencyKey}`)
    throw new Unanswered('The connection was lost.')
  },
  reconcile: (_input, { key, reference }) => {
    const isFirst = !seen().includes('asked')
    write(`asked ${key}`)
    if (isFirst || reference !== `payment of ${key}`) return 'unknown'
    return seen().includes(`paid ${key}`) ? { ran: 'receipt' } : 'did-not-run'
  },
  undo: (_input, _outcome, { undoes }) => {
    write(`undone ${undoes}`)
    return 'refunded'
  },
})

const turnwire = await Turnwire.open({
  data: folder,
  server: { log: 'error' },
  agents: [
    {
      name: 'helper',
      tools: [pay],
      model: scripted(({ history }) =>
        history.length === 1 ? { calls: [{ name: 'pay' }] } : { text: 'Perhaps.' },
      ),
    },
  ],
})
const { url } = await startServer(turnwire, { port: 0 })
announce(url)
