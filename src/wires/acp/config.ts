// The agent's options as the protocol's config options, and as its older modes. A secret is never among them. A text
// option is a choice between what it is and what it would be; any text may be set.
import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk'
import type { Agent, AgentOption } from '../../engine/index.ts'
import type { Settings } from '../../language/events.ts'
import { refuseParams } from './failure.ts'

export const modelOption = 'model'

/** Named models that a session may choose, the agent's own among them, which is `own`. */
export type Models = { own: string; names: readonly string[] } | undefined

/** Options by that name are of that kind, unless they say otherwise. */
const namedCategories: Readonly<Record<string, string>> = {
  mode: 'mode',
  model: 'model',
  thinking: 'thought_level',
  effort: 'thought_level',
  thought_level: 'thought_level',
}

export function configOptions(agent: Agent, settings: Settings, models: Models): SessionConfigOption[] {
  const own = agent.options
    .filter(option => option.type !== 'secret')
    .map(option => encodeOption(option, settings))
  const choice = choosable(agent, models)
  return choice ? [...own, encodeModels(settings, choice)] : own
}

function encodeOption(option: AgentOption, settings: Settings): SessionConfigOption {
  const current = currentOf(option, settings)
  const values = option.type === 'select' ? (option.options ?? []) : [...new Set([current, option.default])]
  const category = categoryOf(option)
  return {
    type: 'select',
    id: option.name,
    name: option.title ?? option.name,
    ...(option.description !== undefined && { description: option.description }),
    ...(category !== undefined && { category }),
    currentValue: current,
    options: values.map(value => ({ value, name: value === '' ? '(empty)' : value })),
  }
}

function encodeModels(settings: Settings, { own, names }: NonNullable<Models>): SessionConfigOption {
  return {
    type: 'select',
    id: modelOption,
    name: 'Model',
    category: 'model',
    currentValue: settings.model ?? own,
    options: names.map(value => ({ value, name: value })),
  }
}

/** An option of the agent's own with that name goes first. */
function choosable(agent: Agent, models: Models): Models {
  return agent.options.some(option => option.name === modelOption) ? undefined : models
}

function categoryOf(option: AgentOption): string | undefined {
  const { name, category } = option
  return category ?? (Object.hasOwn(namedCategories, name) ? namedCategories[name] : undefined)
}

function currentOf(option: AgentOption, settings: Settings): string {
  const value = Object.hasOwn(settings.options, option.name) ? settings.options[option.name] : undefined
  return typeof value === 'string' ? value : option.default
}

/** The settings that a choice makes. Throws the refusal that the protocol has for it. */
export function chooseOption(
  agent: Agent,
  settings: Settings,
  models: Models,
  id: string,
  value: unknown,
): Partial<Settings> {
  if (typeof value !== 'string') throw refuseParams(`The option "${id}" takes a text.`)
  const option = agent.options.find(each => each.name === id && each.type !== 'secret')
  if (option) {
    if (option.type === 'select' && !option.options?.includes(value))
      throw refuseParams(`The option "${id}" takes one of: ${option.options?.join(', ')}.`)
    return { options: { ...settings.options, [id]: value } }
  }
  const choice = id === modelOption ? choosable(agent, models) : undefined
  if (!choice) throw refuseParams(`There is no option "${id}".`)
  if (!choice.names.includes(value))
    throw refuseParams(`The option "${id}" takes one of: ${choice.names.join(', ')}.`)
  return { model: value }
}

// ---- modes -------------------------------------------------------------------------------------------------

export function modeOption(agent: Agent): AgentOption | undefined {
  return agent.options.find(option => option.type === 'select' && categoryOf(option) === 'mode')
}

export function modeState(agent: Agent, settings: Settings): SessionModeState | undefined {
  const option = modeOption(agent)
  if (!option) return undefined
  return {
    currentModeId: currentOf(option, settings),
    availableModes: (option.options ?? []).map(id => ({ id, name: id })),
  }
}
