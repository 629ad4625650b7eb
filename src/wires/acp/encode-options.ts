// The agent's options as the protocol's config options, and as its older modes. Secrets are never among them. A text option
// is encoded as a choice between its value and its default, but takes any text.
import type { SessionConfigOption, SessionModeState } from '@agentclientprotocol/sdk'
import type { AgentInfo, AgentOption } from '../../engine/index.ts'
import type { Settings } from '../../language/events.ts'
import type { ModelChoice } from './host.ts'

export type OptionSource = { info: AgentInfo; models: ModelChoice }

export const modelOption = 'model'

/** Categories of options that do not name one themselves, by name. */
const namedCategories: Readonly<Record<string, string>> = {
  mode: 'mode',
  model: 'model',
  thinking: 'thought_level',
  effort: 'thought_level',
  thought_level: 'thought_level',
}

export function encodeOptions(source: OptionSource, settings: Settings): SessionConfigOption[] {
  const own = source.info.options
    .filter(option => option.type !== 'secret')
    .map(option => encodeOption(option, settings))
  const models = modelChoice(source)
  return models ? [...own, encodeModels(settings, models)] : own
}

/** An option of the agent that has the same name takes precedence. */
export function modelChoice({ info, models }: OptionSource): ModelChoice {
  return info.options.some(option => option.name === modelOption) ? undefined : models
}

function encodeOption(option: AgentOption, settings: Settings): SessionConfigOption {
  const current = currentValue(option, settings)
  const values = option.type === 'select' ? (option.options ?? []) : [...new Set([current, option.default])]
  const category = optionCategory(option)
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

function encodeModels(settings: Settings, { own, names }: NonNullable<ModelChoice>): SessionConfigOption {
  const currentValue = settings.model ?? own
  // A session that another wire has made may have a name that a pattern answers for.
  const values = [...new Set([...names, currentValue])]
  return {
    type: 'select',
    id: modelOption,
    name: 'Model',
    category: 'model',
    currentValue,
    options: values.map(value => ({ value, name: value })),
  }
}

function optionCategory({ name, category }: AgentOption): string | undefined {
  return category ?? (Object.hasOwn(namedCategories, name) ? namedCategories[name] : undefined)
}

export function currentValue({ name, default: value }: AgentOption, { options }: Settings): string {
  const chosen = Object.hasOwn(options, name) ? options[name] : undefined
  return typeof chosen === 'string' ? chosen : value
}

// ---- modes -------------------------------------------------------------------------------------------------

export function modeOption({ options }: AgentInfo): AgentOption | undefined {
  return options.find(option => option.type === 'select' && optionCategory(option) === 'mode')
}

export function encodeModes({ info }: OptionSource, settings: Settings): SessionModeState | undefined {
  const option = modeOption(info)
  if (!option) return undefined
  return {
    currentModeId: currentValue(option, settings),
    availableModes: (option.options ?? []).map(id => ({ id, name: id })),
  }
}
