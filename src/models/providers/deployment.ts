// What the providers share: a deployment of a protocol, from what an operator writes in a configuration. Nothing is
// read or checked before the model is first asked, so that a configuration loads without any key.

import type { Model } from '../../engine/ports.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import { checkPrices, type Prices } from '../common/cost.ts'
import type { Protocol } from '../protocol.ts'
import { createModel, type RunLimits } from '../run.ts'
import { contextOf } from './context.ts'

/** A key, or where to get one each time it is needed. */
export type Secret = string | (() => string | Promise<string>)

export type ProviderOptions = {
  /** The vendor's name of the model. */
  model: string
  /** Default: the provider's variable of the environment, read at each request. */
  apiKey?: Secret
  baseUrl?: string
  /** How hard the model thinks, in the vendor's own words; or the vendor's own object. */
  thinking?: string | JsonObject
  /** The most tokens of one answer. */
  maxTokens?: number
  /** Tools that the vendor runs on its own side, declared as the vendor wants them. */
  hosted?: readonly JsonObject[]
  /** Further fields of the body, as they are. */
  body?: JsonObject
  headers?: Record<string, string>
  /** Models of one family read one another's reasoning. Default: from the model's name. */
  family?: string
  /** In place of the provider's own list. */
  quirks?: readonly string[]
  /** Goes on by the vendor's own memory where that is sound. */
  stateful?: boolean
  /** How many tokens a request may hold. Default: what the vendor says of its own models, where it says one number. */
  contextTokens?: number
  limits?: Partial<RunLimits>
  /** What it costs, per million tokens; then answers say what they cost, and `limits.money` counts. */
  prices?: Prices
  /** The name under which answers are recorded. */
  id?: string
}

export type Deployment<State> = {
  name: string
  protocol: Protocol<State>
  baseUrl: string | (() => string)
  /** The variable that holds the key. Absent: no key is needed. */
  keyVariable?: string
  keyOptional?: boolean
  auth?: (key: string) => Record<string, string>
  path?: (path: string) => string
  quirks?: readonly string[] | ((model: string) => readonly string[])
  /** These are the vendor's own models under their own names: what is known of them holds here. */
  ownModels?: boolean
  /** Artifacts of this deployment are of no use to the vendor's own, nor the other way round. */
  ownFamily?: boolean
  thinking?: (wanted: string | JsonObject) => JsonObject
}

export function deploy<State>(deployment: Deployment<State>, options: ProviderOptions): Model {
  const { name, protocol, path } = deployment
  const { model, thinking, limits, prices, id } = options
  if (typeof model !== 'string' || model === '')
    throw new TurnwireError(
      'config_invalid',
      `The provider "${name}" needs the name of a model, in an object: { model: "…" }.`,
    )
  if (prices !== undefined) checkPrices(prices, `${name}/${model}`)
  const family = options.family ?? familyOf(model)
  const contextTokens = options.contextTokens ?? (deployment.ownModels ? contextOf(model) : undefined)
  const thinks = thinking === undefined ? {} : (deployment.thinking?.(thinking) ?? {})
  return createModel({
    protocol,
    provider: {
      name,
      url: () => options.baseUrl ?? given(deployment.baseUrl),
      headers: () => {
        const { apiKey, headers } = options
        if (typeof apiKey !== 'function') return { ...authOf(deployment, apiKey), ...headers }
        return asked(apiKey, name).then(key => ({ ...authOf(deployment, key), ...headers }))
      },
      ...(path && { path }),
    },
    target: {
      model,
      family: deployment.ownFamily === true && options.family === undefined ? `${name}:${family}` : family,
      maxTokens: options.maxTokens ?? NO_LIMIT,
      ...(options.maxTokens !== undefined && { mostTokens: options.maxTokens }),
      body: { ...thinks, ...options.body },
      hosted: options.hosted ?? [],
      quirks: new Set(options.quirks ?? quirksOf(deployment, model)),
      stateful: options.stateful ?? false,
    },
    ...(contextTokens !== undefined && { contextTokens }),
    ...(limits && { limits }),
    ...(prices && { prices }),
    ...(id !== undefined && { id }),
  })
}

/** A limit of ours may be more than a model takes, and its own depends on the model. */
const NO_LIMIT = 0

function quirksOf<State>({ quirks }: Deployment<State>, model: string): readonly string[] {
  return typeof quirks === 'function' ? quirks(model) : (quirks ?? [])
}

function given(value: string | (() => string)): string {
  return typeof value === 'string' ? value : value()
}

export const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })

function authOf<State>(
  { name, keyVariable, keyOptional, auth = bearer }: Deployment<State>,
  own: string | undefined,
): Record<string, string> {
  const key = (own ?? (keyVariable === undefined ? '' : (process.env[keyVariable] ?? ''))).trim()
  if (key !== '') return auth(key)
  if (keyVariable === undefined || keyOptional === true) return {}
  throw missing(name, keyVariable, 'apiKey')
}

/** What a getter of keys throws may hold one, so its words go no further. */
async function asked(get: () => string | Promise<string>, provider: string): Promise<string> {
  try {
    return await get()
  } catch {
    throw new TurnwireError('model_failed', `${provider} cannot be asked: its apiKey function failed.`)
  }
}

/** A variable that the deployment cannot do without. */
export function variable(provider: string, name: string, option: string): string {
  const value = process.env[name]?.trim()
  if (value === undefined || value === '') throw missing(provider, name, option)
  return value
}

function missing(provider: string, name: string, option: string): TurnwireError {
  return new TurnwireError(
    'model_rejected',
    `${provider} cannot be asked: set ${name}, or give ${option} to the model.`,
  )
}

const FAMILIES: readonly (readonly [prefix: RegExp, family: string])[] = [
  [/^claude/, 'claude'],
  // These do not reason: what the others have thought is of no use to them.
  [/^(?:gpt-[34]|chatgpt|gpt-5[\d.]*-chat)/, 'gpt-plain'],
  [/^(gpt|o\d|codex)/, 'gpt'],
  [/^(gemini|learnlm)/, 'gemini'],
  [/^deepseek/, 'deepseek'],
  [/^grok/, 'grok'],
  [/^(mistral|ministral|codestral|devstral|magistral|pixtral)/, 'mistral'],
  [/^(llama|meta-llama)/, 'llama'],
  [/^(qwen|qwq)/, 'qwen'],
  [/^(kimi|moonshot)/, 'kimi'],
  [/^glm/, 'glm'],
]

/** A model of no known family is a family of its own: what it made goes back to it alone. */
export function familyOf(model: string): string {
  const name = model.toLowerCase().replace(/^.*\/|^ft:/, '')
  return FAMILIES.find(([prefix]) => prefix.test(name))?.[1] ?? name
}
