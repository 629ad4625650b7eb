// The agent of an owner's machine that is attached to a relay. It runs apart from everything else here: an engine in
// memory with one agent that has no tools, no MCP servers, no programs and no store, so that a request can reach nothing of
// this machine but the model. Policy, limits and hooks of the configuration hold.

import type { AgentConfig, TurnwireConfig } from '../config/config.ts'
import { TurnwireError } from '../language/errors.ts'
import { pickPresent } from '../lib/json/present.ts'
import type { Log } from '../log.ts'
import type { LocalAgent } from '../relay/owner/local-agent.ts'
import { withoutServerMembers } from '../relay/request.ts'
import { Runtime } from '../runtime.ts'
import { makeHost } from '../server/server.ts'
import { answerWithEvents } from '../wires/responses/once.ts'

export type AttachedAgent = { agent: LocalAgent; name: string; close: () => Promise<void> }

/** `name`: of an agent of the configuration. Undefined: the first. */
export async function openAttachedAgent(
  config: TurnwireConfig,
  name: string | undefined,
  log: Log,
): Promise<AttachedAgent> {
  const agent = config.agents.find(each => name === undefined || each.name === name)
  if (!agent) throw noAgent(config, name)
  const runtime = await Runtime.open(confined(config, agent), { log })
  const answer = answerWithEvents(await makeHost(runtime), 'relay')
  return {
    agent: (body, signal) => answer(withoutServerMembers(body), signal),
    name: agent.name,
    close: () => runtime.close(),
  }
}

function noAgent({ agents }: TurnwireConfig, name: string | undefined): TurnwireError {
  const known = agents.map(each => each.name).join(', ')
  return new TurnwireError(
    'config_invalid',
    known === ''
      ? 'The configuration has no agent that could answer: it is that of a relay. Start this in a folder without it (there the demonstration answers), or name another with --config <file>.'
      : `The configuration has no agent named "${name}". There are: ${known}.`,
  )
}

/** The settings of an agent that count here. It has no tools and keeps no sessions, and `attach` is given its price. */
const usedSettings = [
  'name',
  'title',
  'version',
  'description',
  'system',
  'model',
  'options',
  'limits',
  'choice',
  'parallel',
  'maxTokens',
  'answer',
] as const satisfies (keyof AgentConfig)[]

/** The configuration of the one agent that answers, without everything else that this machine has. */
function confined(config: TurnwireConfig, agent: AgentConfig): TurnwireConfig {
  const { rules: _, ...bounds } = config.policy ?? {}
  return {
    agents: [{ ...pickPresent(agent, usedSettings), clientTools: true, images: { http: false, data: true } }],
    ...pickPresent(config, ['models', 'limits', 'egress', 'hooks']),
    policy: bounds,
    data: 'memory',
  }
}
