// People of one owner with roles, and a tool that two of them have to allow: for the tests of approvers.
import type { TestContext } from 'node:test'
import type { Principal } from '../../src/callers/caller.ts'
import type { AgentConfig } from '../../src/config/config.ts'
import { runtimeOf } from '../../src/library/turnwire.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { acpHost } from '../../src/server/acp.ts'
import { agentTool, codeTool, tool } from '../../src/tools/index.ts'
import { connect } from './acp/rig.ts'
import type { AllWires } from './all-wires.ts'
import { boundTo } from './bound.ts'
import type { RigOptions } from './rig.ts'

export type Person = { name: string; roles: string[] }
const people = {
  ana: { name: 'ana', roles: ['finance'] },
  ben: { name: 'ben', roles: ['finance'] },
  eve: { name: 'eve', roles: ['finance'] },
  joe: { name: 'joe', roles: ['sales'] },
} satisfies Record<string, Person>
export const { ana, ben, eve, joe } = people
export const owner = 'alice'

/** The application's own sign-in: a header says who it is. */
const authenticate = (request: Request): (Person & { owner: string }) | undefined => {
  const person = Object.values(people).find(({ name }) => name === request.headers.get('x-person'))
  return person && { ...person, owner }
}

const policy = {
  rules: [
    { tool: 'mail', then: 'ask' as const, approvers: { roles: ['finance'], notRequester: true, quorum: 2 } },
  ],
}

export type Scene = { name: string; call: { name: string; input: Record<string, string> } }
export const scenes: [Scene, ...Scene[]] = [
  { name: 'a call of the model', call: { name: 'mail', input: { to: 'bo' } } },
  {
    name: 'a call of a program',
    call: { name: 'run_code', input: { code: `return await tools.mail({ to: 'bo' })` } },
  },
  { name: 'a call of another agent', call: { name: 'ask_writer', input: { task: 'Mail Bo.' } } },
]

export function options({ call }: Scene, runs: string[]): RigOptions {
  const mail = tool({
    name: 'mail',
    description: 'Sends.',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    run: input => {
      runs.push(JSON.stringify(input))
      return 'sent'
    },
  })
  const after = (first: object, text: string) =>
    scripted(({ history }) => (history.at(-1)?.role === 'tool' ? { text } : first))
  const writer: AgentConfig = {
    name: 'writer',
    model: after({ calls: [{ name: 'mail', input: { to: 'bo' } }] }, 'Written.'),
    tools: [mail],
  }
  return {
    model: after({ text: 'May I? ', calls: [call] }, 'It is sent.'),
    tools: [mail, codeTool(), agentTool('writer')],
    agents: [writer],
    policy,
    server: { authenticate },
  }
}

/** The same server, as this person uses it. */
export function as(t: TestContext, at: AllWires, { name, roles }: Person): AllWires {
  const caller: Principal = { owner, name, roles }
  const { engine, log } = runtimeOf(at.turnwire)
  return {
    ...at,
    request: (method, path, body, more) =>
      at.request(method, path, body, {
        ...more,
        who: 'nobody',
        headers: { ...more?.headers, 'x-person': name },
      }),
    edit: async given =>
      connect(t, await acpHost({ engine: boundTo(engine)(caller), log }, { principal: caller }), given),
  }
}

type Told = { type: string; by?: string }

/** What the log has about approvals. */
export async function approvals(at: AllWires, session: string): Promise<string[]> {
  const log = await runtimeOf(at.turnwire).engine.events({ owner, session }, 0, 1e6)
  return log
    .map(({ event }): Told => event)
    .filter(({ type }) => type.startsWith('approval.'))
    .map(({ type, by }) => (by === undefined ? type : `${type} ${by}`))
}
