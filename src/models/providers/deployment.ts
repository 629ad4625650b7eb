// Shared by the providers: makes a model from a deployment of a protocol and the operator's options. Keys and addresses
// are read when a request is made, so that a configuration loads without them.

import type { Model } from '../../engine/ports/index.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { nearest } from '../../lib/text/nearest.ts'
import { checkPrices, type Prices } from '../common/cost.ts'
import type { Protocol } from '../protocol.ts'
import { createModel, type RunLimits } from '../run.ts'
import { contextSize } from './context.ts'
import { checkHosted } from './hosted-tools.ts'
import { findPrice } from './price-table.ts'

/** A key, or a function that is called for one at each request. */
export type Secret = string | (() => string | Promise<string>)

export type ProviderOptions = {
  /** The vendor's name of the model. */
  model: string
  /** Default: the provider's environment variable, read at each request. */
  apiKey?: Secret
  baseUrl?: string
  /** The vendor's name of an effort, or the vendor's own object. */
  thinking?: string | JsonObject
  /** The token limit of one answer. */
  maxTokens?: number
  /** Tools that the vendor runs, declared in the vendor's form. */
  hosted?: readonly JsonObject[]
  /** Further fields of the body, sent unchanged. */
  body?: JsonObject
  headers?: Record<string, string>
  /** Models of one family accept one another's reasoning. Default: from the model's name. */
  family?: string
  /** Replaces the provider's own list. */
  quirks?: readonly string[]
  /** Continues from the vendor's stored conversation where that is safe. */
  stateful?: boolean
  /** The token limit of a request. Default: the vendor's number for its own models, where there is one. */
  contextTokens?: number
  limits?: Partial<RunLimits>
  /**
   * US dollars per million tokens. With prices, answers carry their cost and `limits.money` applies. Default: the vendor's list price, if it
   * is known and no `baseUrl` is given. `false`: none.
   */
  prices?: Prices | false
  /** The model's name in records. */
  id?: string
}

/** The fields of the body for a wanted effort. */
export type Thinking = (wanted: string | JsonObject) => JsonObject

export type Deployment<State> = {
  name: string
  protocol: Protocol<State>
  baseUrl: string | (() => string)
  /** The environment variable of the key. Absent: no key is needed. */
  keyVariable?: string
  keyOptional?: boolean
  /** The header that has the key. Absent: it is a bearer token. */
  keyHeader?: string
  path?: (path: string) => string
  quirks?: readonly string[] | ((model: string) => readonly string[])
  /** Serves the vendor's own models under their own names, so their known context sizes apply. */
  ownModels?: boolean
  /** Artifacts of this deployment are not exchanged with the vendor's own API. */
  ownFamily?: boolean
  thinking?: Thinking
  /** Names of options that only this provider has. */
  ownOptions?: readonly string[]
}

const optionNames = Object.keys({
  model: true,
  apiKey: true,
  baseUrl: true,
  thinking: true,
  maxTokens: true,
  hosted: true,
  body: true,
  headers: true,
  family: true,
  quirks: true,
  stateful: true,
  contextTokens: true,
  limits: true,
  prices: true,
  id: true,
} satisfies Record<keyof ProviderOptions, true>)

/** JavaScript can pass anything, and a misspelt option would do nothing. */
function checkProviderOptions(provider: string, options: ProviderOptions, own: readonly string[]): void {
  const known = [...optionNames, ...own]
  const unknown = Object.keys(options).find(name => !known.includes(name))
  if (unknown === undefined) return
  const near = nearest(unknown, known)
  throw new TurnwireError(
    'config_invalid',
    `The provider "${provider}" has no option "${unknown}". ${near === undefined ? `A field of the vendor's own API goes into body: { ${unknown}: … }. Known are: ${known.join(', ')}.` : `Did you mean "${near}"?`}`,
  )
}

/** A provider without options of its own. */
export function preset<State>(deployment: Deployment<State>): (options: ProviderOptions) => Model {
  return options => deploy(deployment, options)
}

export function deploy<State>(deployment: Deployment<State>, options: ProviderOptions): Model {
  const { name, protocol, path } = deployment
  const { model, thinking, limits, id } = options
  if (typeof model !== 'string' || model === '')
    throw new TurnwireError(
      'config_invalid',
      `The provider "${name}" needs the name of a model, in an object: { model: "…" }.`,
    )
  checkProviderOptions(name, options, deployment.ownOptions ?? [])
  const prices = modelPrices(name, options)
  checkHosted(options.hosted ?? [], protocol.name, `${name}/${model}`)
  const family = options.family ?? modelFamily(model)
  const contextTokens = options.contextTokens ?? (deployment.ownModels ? contextSize(model) : undefined)
  const thinkingFields = thinking === undefined ? {} : (deployment.thinking?.(thinking) ?? {})
  const made = createModel({
    protocol,
    provider: {
      name,
      url: () => options.baseUrl ?? readBaseUrl(deployment.baseUrl),
      headers: () => {
        const { apiKey, headers } = options
        if (typeof apiKey !== 'function') return { ...authHeaders(deployment, apiKey), ...headers }
        return keyFrom(apiKey, name).then(key => ({ ...authHeaders(deployment, key), ...headers }))
      },
      ...(path && { path }),
    },
    target: {
      model,
      family: deployment.ownFamily === true && options.family === undefined ? `${name}:${family}` : family,
      maxTokens: options.maxTokens ?? NO_LIMIT,
      ...(options.maxTokens !== undefined && { mostTokens: options.maxTokens }),
      body: { ...thinkingFields, ...options.body },
      hosted: options.hosted ?? [],
      quirks: new Set(options.quirks ?? modelQuirks(deployment, model)),
      stateful: options.stateful ?? false,
    },
    ...(contextTokens !== undefined && { contextTokens }),
    ...(limits && { limits }),
    ...(prices && { prices }),
    ...(id !== undefined && { id }),
  })
  readers.set(made, () => {
    if (options.baseUrl === undefined) readBaseUrl(deployment.baseUrl)
    if (typeof options.apiKey !== 'function') authHeaders(deployment, options.apiKey)
  })
  return made
}

/** Each reads the settings of a model as a request does, and throws for one that is missing. */
const readers = new WeakMap<Model, () => void>()

/** The setting that a model lacks now, and how to give it. A key that a function gives is not asked for. */
export function unsetIn(model: Model): string | undefined {
  try {
    readers.get(model)?.()
    return undefined
  } catch (error) {
    return wordsOf(error)
  }
}

/** A gateway at another address may charge anything, so only the vendor's own address has the list price. */
function modelPrices(
  provider: string,
  { model, baseUrl, prices }: Pick<ProviderOptions, 'model' | 'baseUrl' | 'prices'>,
): Prices | undefined {
  if (prices === false) return undefined
  if (prices === undefined) return baseUrl === undefined ? findPrice(provider, model)?.prices : undefined
  checkPrices(prices, `${provider}/${model}`)
  return prices
}

/** Each model has its own limit, and a default of ours could exceed it. */
const NO_LIMIT = 0

function modelQuirks<State>({ quirks }: Deployment<State>, model: string): readonly string[] {
  return typeof quirks === 'function' ? quirks(model) : (quirks ?? [])
}

function readBaseUrl(value: string | (() => string)): string {
  return typeof value === 'string' ? value : value()
}

function authHeaders<State>(
  { name, keyVariable, keyOptional, keyHeader }: Deployment<State>,
  own: string | undefined,
): Record<string, string> {
  const key = (own ?? (keyVariable === undefined ? '' : (process.env[keyVariable] ?? ''))).trim()
  if (key !== '') return keyHeader === undefined ? { authorization: `Bearer ${key}` } : { [keyHeader]: key }
  if (keyVariable === undefined || keyOptional === true) return {}
  throw missingSetting(name, keyVariable, 'apiKey')
}

/** The error of an `apiKey` function may contain the key, so its message is dropped. */
async function keyFrom(get: () => string | Promise<string>, provider: string): Promise<string> {
  try {
    return await get()
  } catch {
    throw new TurnwireError('model_failed', `${provider} cannot be asked: its apiKey function failed.`)
  }
}

/** A required environment variable. */
export function requiredVariable(provider: string, name: string, option: string): string {
  const value = process.env[name]?.trim()
  if (value === undefined || value === '') throw missingSetting(provider, name, option)
  return value
}

function missingSetting(provider: string, name: string, option: string): TurnwireError {
  return new TurnwireError(
    'model_rejected',
    `${provider} cannot be asked: set ${name}, or give ${option} to the model.`,
  )
}

const FAMILIES: readonly (readonly [prefix: RegExp, family: string])[] = [
  [/^claude/, 'claude'],
  // These models do not reason, and accept no reasoning of the others.
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

/** A model of no known family is a family of its own. */
export function modelFamily(model: string): string {
  const name = model.toLowerCase().replace(/^.*\/|^ft:/, '')
  return FAMILIES.find(([prefix]) => prefix.test(name))?.[1] ?? name
}
