// Plays scenes in real sessions: a scripted model makes the calls in order, tools answer with what was recorded, and a person
// says yes to the user's calls and no to the attack's. The gate of the runtime decides; nothing of it is repeated here.

import type { Tool } from '../../src/engine/ports/index.ts'
import { scripted, Turnwire, tool } from '../../src/index.ts'
import { planActionsName } from '../../src/language/flow.ts'
import type { Json } from '../../src/lib/json/index.ts'
import type { FlowSettings } from '../../src/policy/index.ts'
import {
  acts,
  isReadOnly,
  type Labelling,
  type Scene,
  type SceneCall,
  type Suite,
  toLabels,
} from './suite.ts'

export type Played = {
  /** Times that a person was asked; calls that were asked about together count once. */
  questions: number
  /** Calls of the attack that act and ran without a question. */
  unasked: SceneCall[]
}

type Script = { steps: SceneCall[][]; answers: Map<string, SceneCall['answer'][]> }

const keyOf = (name: string, args: unknown): string => `${name} ${JSON.stringify(args)}`

/** Calls of one tool that acts, one after the other, are made in one answer. */
function toSteps(suite: Suite, calls: readonly SceneCall[]): SceneCall[][] {
  const steps: SceneCall[][] = []
  for (const call of calls) {
    const last = steps.at(-1)?.[0]
    const together =
      last && last.tool === call.tool && last.isAttack === call.isAttack && acts(suite, call.tool)
    if (together) steps.at(-1)?.push(call)
    else steps.push([call])
  }
  return steps
}

function leavesOf(value: Json): string[] {
  if (typeof value === 'string' || typeof value === 'number') return value === '' ? [] : [String(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : []
}

export class Player {
  readonly #suite: Suite
  readonly #flow: FlowSettings
  readonly #scripts = new Map<string, Script>()
  readonly #turnwire: Promise<Turnwire>

  constructor(suite: Suite, flow: FlowSettings, labelling: Labelling) {
    this.#suite = suite
    this.#flow = flow
    const model = scripted((request, at) => {
      const script = this.#scripts.get(request.session)
      const step = script?.steps[at]
      if (!step) return { text: 'Done.' }
      return { calls: step.map(({ tool: name, args }) => ({ name, input: args })) }
    })
    this.#turnwire = Turnwire.open({
      agents: [
        {
          name: 'assistant',
          model,
          ...(suite.system_prompt && { system: suite.system_prompt }),
          tools: this.#tools(labelling),
          flow,
          limits: { identicalCalls: 50 },
        },
      ],
      data: 'memory',
    })
  }

  #tools(labelling: Labelling): Tool[] {
    return Object.entries(this.#suite.tools).map(([name, made]) => {
      const flow = labelling === 'full' ? toLabels(made) : undefined
      return tool({
        name,
        description: made.description || name,
        input: made.parameters ?? { type: 'object' },
        readOnly: isReadOnly(made),
        trust: 'trusted',
        outputLimit: 4 * 1024 * 1024,
        ...(flow && { flow }),
        run: (args, { session }) => {
          const answer = this.#scripts.get(session)?.answers.get(keyOf(name, args))?.shift()
          if (!answer || 'error' in answer) throw new Error(answer?.error ?? 'There is no such record.')
          return {
            parts: [{ type: 'text' as const, text: answer.text }],
            ...(answer.data !== undefined && { structured: answer.data }),
          }
        },
      })
    })
  }

  async play(scene: Scene): Promise<Played> {
    const turnwire = await this.#turnwire
    const session = await turnwire.session('assistant')
    const answers = new Map<string, SceneCall['answer'][]>()
    for (const { tool: name, args, answer } of scene.calls) {
      const key = keyOf(name, args)
      answers.set(key, [...(answers.get(key) ?? []), answer])
    }
    const steps = toSteps(this.#suite, scene.calls)
    if (this.#flow.declare) steps.unshift([this.#plan(scene)])
    this.#scripts.set(session.id, { steps, answers })
    const asked = new Set<string>()
    let questions = 0
    let reply = await session.send(scene.prompt)
    while (reply.status === 'waiting') {
      questions += 1
      const history = await session.history()
      const step = steps[history.filter(({ role }) => role === 'assistant').length - 1] ?? []
      const isAttack = step.some(call => call.isAttack)
      const waiting = await session.pending()
      for (const { callId } of waiting) {
        asked.add(callId)
        reply = isAttack
          ? await session.deny(callId, { reason: 'No.' })
          : await session.approve(callId, { by: 'person' })
      }
    }
    const unasked = await this.#effects(session, steps, asked)
    this.#scripts.delete(session.id)
    return { questions, unasked }
  }

  #plan({ calls, prompt }: Scene): SceneCall {
    const tools = [
      ...new Set(calls.flatMap(call => (!call.isAttack && acts(this.#suite, call.tool) ? [call.tool] : []))),
    ]
    // Before it has read anything a model knows the values that the prompt has, and no others.
    const values = tools.map(name => {
      const own = calls.flatMap(({ tool, isAttack, args }) =>
        tool === name && !isAttack ? leavesOf(args) : [],
      )
      return [name, [...new Set(own)].filter(value => prompt.includes(value))] as const
    })
    const args = { tools, values: Object.fromEntries(values) }
    return { tool: planActionsName, args, answer: { text: '' }, isAttack: false }
  }

  async #effects(
    session: { history(): ReturnType<Awaited<ReturnType<Turnwire['session']>>['history']> },
    steps: readonly SceneCall[][],
    asked: ReadonlySet<string>,
  ): Promise<SceneCall[]> {
    const unasked: SceneCall[] = []
    const batches = (await session.history()).filter(({ role }) => role === 'tool')
    for (const [at, entry] of batches.entries())
      for (const [place, { callId, outcome }] of (entry.role === 'tool' ? entry.results : []).entries()) {
        const call = steps[at]?.[place]
        const ran = outcome.from.source === 'tool'
        if (call?.isAttack && ran && !asked.has(callId) && acts(this.#suite, call.tool)) unasked.push(call)
      }
    return unasked
  }

  async close(): Promise<void> {
    await (await this.#turnwire).close()
  }
}
