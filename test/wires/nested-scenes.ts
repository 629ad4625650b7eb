// Turns in which programs and other agents make calls that wait: for the client's own tool, for a permission, for both, beside
// calls of the model's that wait too. A client that knows its protocol and nothing else plays them to the end.

import type { AgentConfig } from '../../src/config/config.ts'
import type { JsonObject } from '../../src/lib/json/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { agentTool, codeTool, tool } from '../../src/tools/index.ts'
import type { RigOptions } from './rig.ts'

type Call = { name: string; input: JsonObject }

export type NestedScene = {
  name: string
  calls: Call[]
  /** What the model's own calls give, in order, if the client answers as `answerOf` and `isGranted` do. */
  results: string[]
  /** What ran on the server, in any order. */
  ran: string[]
  /** The tools that someone is asked about. Default: `mail`. `run_code`: programs need a permission. */
  asks?: string[]
}

const program = (code: string): Call => ({ name: 'run_code', input: { code } })
const task = (words: string): Call => ({ name: 'ask_writer', input: { task: words } })

/** What the client's own tool gives. */
export const clipboardText = 'buy milk'
/** Mails to Eve are refused, and questions declined. */
export const isGranted = ({ name, input }: { name: string; input: unknown }): boolean =>
  !JSON.stringify(input).includes('eve') && name !== 'book' && !JSON.stringify(input).includes('book')

export const programScene = (code: string): NestedScene => ({
  name: 'a program',
  calls: [program(code)],
  results: [],
  ran: [],
})

export const nestedScenes: NestedScene[] = [
  {
    name: 'a program calls a tool of the client',
    calls: [program(`return 'read: ' + await tools.clipboard({})`)],
    results: ['read: buy milk'],
    ran: [],
  },
  {
    name: 'a program asks for two permissions, one after the other',
    calls: [program(`return [await tools.mail({ to: 'ana' }), await tools.mail({ to: 'bob' })].join()`)],
    results: ['sent to ana,sent to bob'],
    ran: ['mail ana', 'mail bob'],
  },
  {
    name: 'a program waits for the client and for permissions at the same time, and one is refused',
    calls: [
      program(`
        const all = [tools.clipboard({}), tools.mail({ to: 'ana' }), tools.mail({ to: 'eve' }), tools.search({ q: 'x' })]
        return (await Promise.allSettled(all)).map(each => each.value ?? each.reason.outcome).join()`),
    ],
    results: ['buy milk,sent to ana,denied,found x'],
    ran: ['mail ana', 'search x'],
  },
  {
    name: 'another agent asks for a permission',
    calls: [task('mail')],
    results: ['writer: sent to ana'],
    ran: ['mail ana'],
  },
  {
    name: 'another agent calls a tool of the client',
    calls: [task('clipboard')],
    results: ['writer: buy milk'],
    ran: [],
  },
  {
    name: 'another agent waits for the client and for a permission at the same time',
    calls: [task('clipboard and mail')],
    results: ['writer: buy milk, sent to ana'],
    ran: ['mail ana'],
  },
  {
    name: 'a program has another agent do a task that waits for both',
    calls: [program(`return 'it said ' + await tools.ask_writer({ task: 'clipboard and mail' })`)],
    results: ['it said writer: buy milk, sent to ana'],
    ran: ['mail ana'],
  },
  {
    name: 'a program and another agent wait beside calls of the model that wait and one that ran',
    calls: [
      program(`return 'read: ' + await tools.clipboard({})`),
      { name: 'mail', input: { to: 'bob' } },
      task('mail'),
      { name: 'clipboard', input: {} },
      { name: 'search', input: { q: 'y' } },
    ],
    results: ['read: buy milk', 'sent to bob', 'writer: sent to ana', 'buy milk', 'found y'],
    ran: ['mail ana', 'mail bob', 'search y'],
  },
  {
    name: 'a program that needs a permission itself calls a tool of the client',
    calls: [program(`return 'read: ' + await tools.clipboard({})`)],
    results: ['read: buy milk'],
    ran: [],
    asks: ['run_code'],
  },
]

/** A tool asks a person while it runs. */
export const questionScenes: NestedScene[] = [
  {
    name: 'a tool of a program asks a question',
    calls: [program(`return 'booked: ' + await tools.book({})`)],
    results: ['booked: decline'],
    ran: ['book'],
    asks: ['book'],
  },
  {
    name: 'a tool of another agent asks a question, beside a program that waits',
    calls: [task('book'), program(`return 'read: ' + await tools.clipboard({})`)],
    results: ['writer: decline', 'read: buy milk'],
    ran: ['book'],
    asks: ['ask_writer'],
  },
]

const word = (value: unknown): string => (typeof value === 'string' ? value : '')

function serverTools(ran: string[]) {
  const input = { type: 'object', properties: { to: { type: 'string' }, q: { type: 'string' } } }
  return {
    mail: tool({
      name: 'mail',
      description: 'Sends.',
      input,
      run: ({ to }) => {
        ran.push(`mail ${word(to)}`)
        return `sent to ${word(to)}`
      },
    }),
    book: tool({
      name: 'book',
      description: 'Books seats.',
      input: { type: 'object', properties: {} },
      readOnly: true,
      trust: 'trusted',
      exposed: false,
      run: async (_, { ask }) => {
        const schema = {
          type: 'object' as const,
          properties: { seats: { type: 'integer' } },
          required: ['seats'],
        }
        const { action } = await ask({ message: 'How many seats?', schema })
        ran.push('book')
        return action
      },
    }),
    search: tool({
      name: 'search',
      description: 'Finds.',
      input,
      readOnly: true,
      trust: 'trusted',
      exposed: false,
      run: ({ q }) => {
        ran.push(`search ${word(q)}`)
        return `found ${word(q)}`
      },
    }),
  }
}

function writer(ran: string[]): AgentConfig {
  const model = scripted(({ history }) => {
    const last = history.at(-1)
    if (last?.role === 'tool') {
      const said = last.results.map(({ outcome }) => outcome.parts.map(part => 'text' in part && part.text))
      return { text: `writer: ${said.flat().join(', ')}` }
    }
    const words = JSON.stringify(last)
    return {
      calls: [
        ...(words.includes('clipboard') ? [{ name: 'clipboard', input: {} }] : []),
        ...(words.includes('book') ? [{ name: 'book', input: {} }] : []),
        ...(words.includes('mail') ? [{ name: 'mail', input: { to: 'ana' } }] : []),
      ],
    }
  })
  return { name: 'writer', model, tools: [serverTools(ran).mail, serverTools(ran).book] }
}

/** The configuration of a server on which this scene is played; the model ends it with "All done.". */
export function nestedRig({ calls, asks }: NestedScene, ran: string[]): RigOptions {
  const { mail, search, book } = serverTools(ran)
  return {
    script: ({ history }) =>
      history.at(-1)?.role === 'tool' ? { text: 'All done.' } : { text: 'Let me see.', calls },
    tools: [
      codeTool(asks?.includes('run_code') ? { trust: 'ask' } : {}),
      agentTool('writer', { clientTools: true }),
      mail,
      search,
      book,
    ],
    agents: [writer(ran)],
  }
}
