// One thing that a replay changes in the configuration: the model, the rules, the tools or the instructions. Everything else
// stays as it is, so that what differs comes of it.
import { statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { TurnwireConfig } from '../config/config.ts'
import { withDraft } from '../config/draft-policy.ts'
import { loadDefault } from '../config/load-config.ts'
import { namedModels } from '../config/named-models.ts'
import type { Model, Tool } from '../engine/index.ts'
import { TurnwireError } from '../language/errors.ts'

export const changeKinds = ['model', 'policy', 'tools', 'prompt'] as const
export type ChangeKind = (typeof changeKinds)[number]

/** `model`: it answers in place of the recorded one. */
export type Changed = { config: TurnwireConfig; model?: Model }

type Change = (config: TurnwireConfig, value: string) => Changed | Promise<Changed>

const changes: Readonly<Record<ChangeKind, Change>> = {
  async model(config, value) {
    const models = namedModels(config)
    const model = Object.hasOwn(models, value) ? models[value] : undefined
    if (model) return { config, model }
    if (!isFile(value))
      throw refuse(
        'model',
        `has neither a model nor a file named "${value}". Models: ${Object.keys(models).join(', ')}`,
      )
    const loaded = (await loadDefault(resolve(value), 'export default <a model>')) as Partial<Model>
    if (typeof loaded.respond !== 'function') throw refuse('model', `${value} exports no model.`)
    return { config, model: loaded as Model } // It can be asked.
  },
  async policy(config, value) {
    return { config: await withDraft(config, value) }
  },
  async tools(config, value) {
    const loaded = await loadDefault(resolve(value), 'export default [tool({ … })]')
    if (!Array.isArray(loaded)) throw refuse('tools', `${value} exports no list of tools.`)
    const tools = new Map((loaded as Tool[]).map(tool => [tool.name, tool])) // As `tool()` made them.
    const agents = config.agents.map(agent => {
      const own = agent.tools ?? []
      const added = [...tools.values()].filter(({ name }) => !own.some(tool => tool.name === name))
      return { ...agent, tools: [...own.map(tool => tools.get(tool.name) ?? tool), ...added] }
    })
    return { config: { ...config, agents } }
  },
  async prompt(config, value) {
    const system = isFile(value) ? await readFile(value, 'utf8') : value
    return { config: { ...config, agents: config.agents.map(agent => ({ ...agent, system })) } }
  },
}

/** `given`: such as `policy=draft.ts`. Throws a TurnwireError that says what is wrong with it. */
export async function changeConfig(config: TurnwireConfig, given: string): Promise<Changed> {
  const [, kind = '', value = ''] = /^([a-z]+)=(.+)$/s.exec(given) ?? []
  const change = changeKinds.find(known => known === kind)
  if (!change)
    throw new TurnwireError(
      'bad_request',
      `--with takes one change, as ${changeKinds.map(known => `${known}=…`).join(', ')}.`,
    )
  return changes[change](config, value)
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}

function refuse(kind: ChangeKind, words: string): TurnwireError {
  return new TurnwireError('bad_request', `--with ${kind}: ${words}`)
}
