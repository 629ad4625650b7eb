// The models of a configuration by name. An entry is a model, or the name of another entry: an alias. Which entry a name
// means is decided in language/model-names.ts.
import type { Model } from '../engine/ports/index.ts'
import { TurnwireError } from '../language/errors.ts'
import { isModelPattern, modelKey } from '../language/model-names.ts'
import { isRecord, type Wrong } from '../lib/checks/fields.ts'
import type { TurnwireConfig } from './config.ts'

/** Every entry with its model. The configuration was checked. */
export function namedModels({ models = {} }: Pick<TurnwireConfig, 'models'>): Record<string, Model> {
  return Object.fromEntries(
    Object.entries(models).flatMap(([name, entry]) => {
      const model = typeof entry === 'string' ? models[entry] : entry
      return model === undefined || typeof model === 'string' ? [] : [[name, model]]
    }),
  )
}

/** The model that a name means, also by a pattern. */
export function modelNamed(models: Readonly<Record<string, Model>>, name: string): Model {
  const key = modelKey(models, name)
  const model = key === undefined ? undefined : models[key]
  if (!model) throw new TurnwireError('unknown_model', `There is no model named "${name}".`)
  return model
}

/** The names that an agent may give as its model. */
export function checkModels(models: unknown, wrong: Wrong): string[] {
  if (models === undefined) return []
  if (!isRecord(models)) {
    wrong('models', 'must be an object of models by name.')
    return []
  }
  const names = Object.keys(models).filter(name => !isModelPattern(name))
  const own = names.filter(name => typeof models[name] !== 'string')
  for (const [name, entry] of Object.entries(models)) {
    const key = `models.${name}`
    if (name.trim() === '') wrong(key, 'needs a name.')
    if (typeof entry === 'string' && !own.includes(entry)) wrong(key, aliasWords(entry, own))
    if (typeof entry !== 'string' && !isModel(entry))
      wrong(key, 'is not a model: use scripted(…), rehearsal(), or a provider; or the name of another entry.')
  }
  return names
}

function aliasWords(alias: string, own: readonly string[]): string {
  const known =
    own.length > 0
      ? `There are: ${own.join(', ')}.`
      : 'Put a model under a name first, such as main: anthropic({ model }).'
  return `"${alias}" is not the name of a model in models. An alias names an entry that is itself a model. ${known}`
}

export function isModel(value: unknown): value is Model {
  return isRecord(value) && typeof value['respond'] === 'function' && typeof value['id'] === 'string'
}
