// Plays one case in a session of its own, in memory, and collects what happened.
import type { TurnwireConfig } from '../config/config.ts'
import { namedModels } from '../config/named-models.ts'
import type { Model } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { parseBounded } from '../lib/json/index.ts'
import { pickPresent } from '../lib/json/present.ts'
import type { Reply } from '../library/reply.ts'
import { Turnwire } from '../library/turnwire.ts'
import type { PolicyRule } from '../policy/index.ts'
import type { EvalCase, EvalPerson, Evals } from './evals.ts'
import { askJudge, judgePlay, type Play } from './judge-play.ts'
import { stubTools } from './stubs.ts'

/** One combination of what the cases are played with. Undefined: what the configuration has. */
export type Variant = { model?: string; policy?: string; rules?: readonly PolicyRule[] }

export type Played = Play & { name: string; variant: Variant; failures: string[]; ms: number }

type Session = Awaited<ReturnType<Turnwire['session']>>

export async function playCase(
  config: TurnwireConfig,
  evals: Evals,
  given: EvalCase,
  variant: Variant,
): Promise<Played> {
  const began = performance.now()
  const play: Play = { calls: [], asked: [], answer: '', steps: 0, tokens: 0, problems: [] }
  const turnwire = await Turnwire.open(stubbedConfig(config, evals, given, variant, play), { log: () => {} })
  try {
    const agent = evals.agent ?? config.agents[0]?.name ?? ''
    const session = await turnwire.session(agent, {
      ...(variant.model !== undefined && { model: variant.model }),
    })
    for (const prompt of [given.prompt].flat()) await playTurn(session, prompt, given.people ?? 'allow', play)
    await readLog(session, play)
  } catch (error) {
    if (!(error instanceof TurnwireError)) throw error
    play.problems.push(error.message)
  } finally {
    await turnwire.close()
  }
  const failures = await judgePlay(play, given.expect, ({ model, question }, answer) =>
    askJudge(typeof model === 'string' ? findModel(config, model) : model, question, answer),
  )
  return { ...play, name: given.name, variant, failures, ms: Math.round(performance.now() - began) }
}

function findModel(config: TurnwireConfig, name: string): Model {
  const models = namedModels(config)
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (model) return model
  throw new TurnwireError(
    'bad_request',
    `The configuration has no model "${name}". There are: ${Object.keys(models).join(', ')}`,
  )
}

/** Nothing of it reaches the world but its models, and the tools that are to run really. */
function stubbedConfig(
  given: TurnwireConfig,
  evals: Evals,
  { tools = {}, real = [] }: EvalCase,
  { rules }: Variant,
  { problems }: Play,
): TurnwireConfig {
  const { mcp, ...config } = pickPresent(given, [
    'agents',
    'models',
    'mcp',
    'policy',
    'limits',
    'budgets',
    'context',
    'hooks',
  ])
  const stubs = { ...evals.tools, ...tools }
  const missing = (tool: string, input: unknown): void => {
    problems.push(`${tool} was called with ${JSON.stringify(input)}, and there is no stub for that.`)
  }
  const agents = config.agents.map(agent => ({
    ...agent,
    ...(rules && { rules: [] }),
    tools: stubTools(agent.tools ?? [], stubs, real, missing),
  }))
  return {
    ...config,
    ...(mcp && real === true && { mcp }),
    agents,
    data: 'memory',
    ...(rules && { policy: { ...config.policy, rules } }),
  }
}

async function playTurn(session: Session, prompt: string, people: EvalPerson, play: Play): Promise<void> {
  let reply: Reply = await session.send(prompt)
  while (reply.status === 'waiting') {
    const [call] = reply.pending
    if (!call) return
    if (call.needs === 'permission') {
      play.asked.push(call.tool)
      const isAllowed = typeof people === 'function' ? people(call) : people === 'allow'
      reply = await (isAllowed ? session.approve(call.callId) : session.deny(call.callId))
    } else if (call.needs === 'answer')
      reply = await session.answerQuestion(call.question.id, { action: 'decline' })
    else {
      play.problems.push(`${call.tool} belongs to an application, and there is none here.`)
      await session.cancel()
      return
    }
  }
  play.answer = reply.text
  if (reply.status === 'done' && reply.stop !== 'end')
    play.problems.push(`The turn ended with ${reply.stop}${reply.error ? `: ${reply.error.message}` : ''}.`)
}

async function readLog(session: Session, play: Play): Promise<void> {
  const calls = new Map<string, Play['calls'][number]>()
  for await (const item of session.watch({ until: 'stop' })) {
    if (item.type !== 'event') continue
    const { event } = item
    if (event.type === 'model.answered') {
      play.steps += 1
      const { input = 0, output = 0, cost } = event.usage ?? {}
      play.tokens += input + output
      if (cost !== undefined) play.cost = (play.cost ?? 0) + cost
      for (const part of event.parts)
        if (part.type === 'call') calls.set(part.id, { tool: part.name, input: readInput(part.text) })
    } else if (event.type === 'call.settled') {
      const call = calls.get(event.callId)
      if (call) call.outcome = event.outcome.kind
    }
  }
  play.calls.push(...calls.values())
}

/** Arguments as data; text where they are no JSON. */
export function readInput(text: string): unknown {
  return parseBounded(text) ?? text
}
