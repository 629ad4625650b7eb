// The process that gets killed: a real server on SQLite, with tools whose effects are written outside the database and a
// scripted model. Run as `node server.ts <folder>`; its first line is its address and its process id.
import { appendFileSync, closeSync, fsyncSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { scripted, startServer, type Tool, Turnwire, tool } from '../../src/index.ts'
import type { ScriptStep as Step } from '../../src/models/scripted/index.ts'
import { announce } from '../announce.ts'

const folder = process.argv[2]
if (folder === undefined) throw new Error('name the folder')

function write(file: string, line: string): void {
  const handle = openSync(join(folder ?? '', file), 'a')
  appendFileSync(handle, `${line}\n`)
  fsyncSync(handle)
  closeSync(handle)
}

function effective(name: string, flags: { readOnly?: true; idempotent?: true }): Tool {
  return tool({
    name,
    description: 'Leaves a trace outside the database.',
    input: { type: 'object', properties: { n: { type: 'integer' } } },
    ...flags,
    run: (_input, { callId, idempotencyKey, attempt }) => {
      write('effects', `${name} ${callId} ${idempotencyKey} ${attempt}`)
      return `${name} took effect`
    },
  })
}

/** Asks a person while it runs. */
const survey = tool({
  name: 'survey',
  description: 'Asks how many.',
  input: { type: 'object' },
  readOnly: true,
  run: async (_input, { callId, idempotencyKey, attempt, ask }) => {
    const schema = { type: 'object' as const, properties: { n: { type: 'integer' } }, required: ['n'] }
    const answer = await ask({ message: 'How many?', schema })
    write('effects', `survey ${callId} ${idempotencyKey} ${attempt}`)
    return JSON.stringify(answer)
  },
})

const steps: Step[] = [
  {
    text: 'Working.',
    calls: [
      { name: 'look', input: { n: 1 } },
      { name: 'put', input: { n: 1 } },
      { name: 'pay', input: { n: 1 } },
      { name: 'mail', input: { n: 1 } },
      { name: 'ring', input: {} },
      { name: 'survey', input: {} },
    ],
  },
  { calls: [{ name: 'pay', input: { n: 2 } }] },
  { text: 'All done.' },
]

const turnwire = await Turnwire.open({
  agents: [
    {
      name: 'helper',
      tools: [
        effective('look', { readOnly: true }),
        effective('put', { idempotent: true }),
        effective('pay', {}),
        effective('mail', {}),
        survey,
      ],
      model: scripted((request, at) => {
        write('requests', JSON.stringify(request.history))
        return steps[at] ?? { text: 'Still here.' }
      }),
    },
  ],
  data: folder,
  server: { log: 'error' },
})
const { url } = await startServer(turnwire, { port: 0 })
announce(`${url} ${process.pid}`)
