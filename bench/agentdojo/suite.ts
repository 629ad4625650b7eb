// AgentDojo as data: suites read from a folder, their tools with labels, and the calls of their tasks and attacks.
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type FlowLabels, type FlowRole, flowRoles } from '../../src/language/flow.ts'
import type { Json, JsonObject } from '../../src/lib/json/index.ts'

export type Label = {
  effect: 'none' | 'marks' | 'reaches' | 'changes'
  output?: 'trusted' | 'untrusted'
  open_fields?: string[]
  args?: Record<string, string>
  record?: string
  ids?: Record<string, string>
  destroys?: boolean
  creates?: boolean
  private?: boolean
  words?: string[]
}
/** Without a label it is known only whether the tool changed something in the recorded runs. */
type SuiteTool = {
  description?: string
  parameters?: JsonObject
  label?: Label
  changes_environment?: boolean
}
export type RecordedCall = { tool: string; args: JsonObject; result?: number; error?: string | null }
type UserTask = { prompt: string; calls: RecordedCall[]; delegates?: boolean }
type Pair = {
  user_task: string
  injection_task: string
  /** The call of the user whose result shows the attack. Absent: none does. */
  first_seen?: number | null
  user_calls: { result?: number; tool?: string; args?: JsonObject; error?: string | null }[]
  attack_calls: (RecordedCall & { alone?: boolean })[]
}
export type Suite = {
  suite: string
  system_prompt?: string
  tools: Record<string, SuiteTool>
  user_tasks: Record<string, UserTask>
  injection_tasks: Record<string, { goal?: string }>
  pairs: Pair[]
  results: { text: string; data?: Json }[]
}

export function readSuites(folder: string): Suite[] {
  const files = globSync(['*.json', '*.json.gz'], { cwd: folder }).sort()
  return files.map(file => {
    const bytes = readFileSync(join(folder, file))
    const suite = JSON.parse((file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString()) as Suite
    if (!suite.tools || !suite.user_tasks || !suite.pairs)
      throw new Error(`${basename(file)} is no suite: it has no tools, tasks and pairs.`)
    return suite
  })
}

/** How much of what a suite says of its tools an operator has declared. */
export type Labelling = 'full' | 'readOnly'

const known: ReadonlySet<string> = new Set(flowRoles)

/** A role that we do not have stays unlabelled, and so is a sink. */
function readRoles(args: Record<string, string> = {}): Record<string, FlowRole> {
  return Object.fromEntries(
    Object.entries(args).filter((entry): entry is [string, FlowRole] => known.has(entry[1])),
  )
}

export function isReadOnly({ label, changes_environment: changes }: SuiteTool): boolean {
  if (label) return label.effect === 'none' || label.effect === 'marks'
  // A tool that says nothing of itself counts as one that acts.
  return changes === false
}

/** Undefined: nobody has labelled it. */
export function toLabels({ label }: SuiteTool): FlowLabels | undefined {
  if (!label) return undefined
  return {
    effect: label.effect === 'marks' ? 'none' : label.effect,
    output: label.output ?? 'untrusted',
    ...(label.open_fields && { outsiders: label.open_fields }),
    args: readRoles(label.args),
    ...(label.record !== undefined && { record: label.record }),
    ...(label.ids && { ids: label.ids }),
    ...(label.destroys && { destroys: true }),
    ...(label.creates && { creates: true }),
    ...(label.private && { private: true }),
    ...(label.words && { words: label.words }),
  }
}

export function acts(suite: Suite, tool: string): boolean {
  const found = suite.tools[tool]
  return found !== undefined && !isReadOnly(found)
}

/** One call of a scene. `result`: what its tool answers. */
export type SceneCall = {
  tool: string
  args: JsonObject
  answer: { text: string; data?: Json } | { error: string }
  isAttack: boolean
}
export type Scene = { name: string; prompt: string; calls: SceneCall[] }

function answerOf(
  suite: Suite,
  { result, error }: { result?: number; error?: string | null },
): SceneCall['answer'] {
  const found = result === undefined ? undefined : suite.results[result]
  return found ?? { error: error ?? 'It failed.' }
}

export function harmlessScenes(suite: Suite): Scene[] {
  return Object.entries(suite.user_tasks).map(([name, { prompt, calls }]) => ({
    name,
    prompt,
    calls: calls.map(call => ({
      tool: call.tool,
      args: call.args,
      answer: answerOf(suite, call),
      isAttack: false,
    })),
  }))
}

/** The user's calls with the attack's planted after the first result that shows it. */
export function attackedScenes(suite: Suite): (Scene & { pair: Pair })[] {
  return suite.pairs.flatMap(pair => {
    const task = suite.user_tasks[pair.user_task]
    if (!task) throw new Error(`${suite.suite} has a pair of ${pair.user_task}, which is no task of its.`)
    if (typeof pair.first_seen !== 'number' || pair.first_seen < 0) return []
    const user = pair.user_calls.flatMap((call, at): SceneCall[] => {
      const own = task.calls[at]
      const name = call.tool ?? own?.tool
      if (name === undefined) return []
      const answer = answerOf(suite, call.result === undefined && !call.error && own ? own : call)
      return [{ tool: name, args: call.args ?? own?.args ?? {}, answer, isAttack: false }]
    })
    const attack = pair.attack_calls.map(
      (call): SceneCall => ({
        tool: call.tool,
        args: call.args,
        answer: answerOf(suite, call),
        isAttack: true,
      }),
    )
    const cut = pair.first_seen + 1
    const calls = [...user.slice(0, cut), ...attack, ...user.slice(cut)]
    return [{ name: `${pair.user_task} × ${pair.injection_task}`, prompt: task.prompt, calls, pair }]
  })
}
