// What a session would have come to if one thing had been another at one of its events: the result of a call, the model, the
// instructions, a rule. Up to there the log answers; from where the session goes another way, the model is asked for real.
// Tools never run, and nothing is recorded.
import { buildAgents } from '../config/build-agent.ts'
import type { TurnwireConfig } from '../config/config.ts'
import { modelNamed, namedModels } from '../config/named-models.ts'
import { parseRules } from '../config/rules-file.ts'
import type { Agent } from '../engine/index.ts'
import type { Outcome } from '../language/calls.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { Recording } from './recording.ts'
import { type ReplayOptions, type ReplayReport, replay } from './replay.ts'

/** `at`: the number of the event from which on it counts. */
export type ChangeToTry = {
  at: number
  /** The name of a model of the configuration. */
  model?: string
  system?: string
  /** Rules in YAML or JSON, which come before all others. */
  rules?: string
  /** The words of a call's result, in place of the recorded ones. It counts from where the call was settled. */
  result?: { callId: string; text: string; failed?: boolean }
}

export type TryOptions = Pick<ReplayOptions, 'vault' | 'people' | 'signal'> & {
  /** Builds the agents of a configuration, with the tools of MCP servers if there are some. */
  build?: (config: TurnwireConfig) => Agent[]
}

export async function tryChange(
  recording: Recording,
  config: TurnwireConfig,
  change: ChangeToTry,
  { build = given => buildAgents(given, () => {}), ...options }: TryOptions = {},
): Promise<ReplayReport> {
  const agents = build(config)
  const model = change.model === undefined ? undefined : modelNamed(namedModels(config), change.model)
  const ruled = change.rules === undefined ? undefined : build(withRules(config, change.rules))
  const made = change.result && changedOutcome(recording, change.result)
  const leave = made
    ? `The result of ${made.tool} was changed.`
    : model && 'From here on another model is asked.'
  return replay(recording, {
    ...options,
    agents,
    live: 'once-left',
    change: {
      // The first event makes the session.
      at: made?.settledAt ?? Math.max(2, change.at),
      make: () => {
        for (const [index, agent] of agents.entries()) {
          if (ruled) Object.assign(agent.gate, ruled[index]?.gate)
          if (change.system !== undefined) agent.system = change.system
          if (model) agent.model = () => model
        }
      },
      ...(leave !== undefined && { leave }),
    },
    ...(made && { outcomes: new Map([[made.callId, made.outcome]]) }),
  })
}

function withRules(config: TurnwireConfig, text: string): TurnwireConfig {
  try {
    const { rules } = parseRules(text, 'The rules')
    const named = rules.map((rule, index) => ({ ...rule, name: `tried[${index}]` }))
    const agents = config.agents.map(agent => ({ ...agent, rules: [...named, ...(agent.rules ?? [])] }))
    return { ...config, agents }
  } catch (error) {
    throw new TurnwireError('bad_request', wordsOf(error))
  }
}

type ChangedOutcome = { callId: string; tool: string; settledAt: number; outcome: Outcome }

function changedOutcome(
  { calls, events }: Recording,
  { callId, text, failed = false }: NonNullable<ChangeToTry['result']>,
): ChangedOutcome {
  const call = calls.get(callId)
  const at = events.findIndex(event => event.type === 'call.settled' && event.callId === callId)
  if (!call?.outcome || at < 0)
    throw new TurnwireError('bad_request', `The session has no result of a call "${callId}".`)
  const { structured: _, report: __, ...outcome } = call.outcome
  const kind = failed ? 'error' : 'ok'
  const changed: Outcome = { ...outcome, kind, parts: [{ type: 'text', text }] }
  return { callId, tool: call.part.name, settledAt: at + 1, outcome: changed }
}
