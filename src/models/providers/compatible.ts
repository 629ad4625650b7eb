// Any server that speaks Chat Completions, by its address. The named providers beside this file add an address, a key
// variable and known quirks.
import type { Model } from '../../engine/ports.ts'
import { TurnwireError } from '../../language/errors.ts'
import { compatibleQuirks, openaiChat, type State } from '../protocols/openai-chat/index.ts'
import { type Deployment, deploy, type ProviderOptions } from './deployment.ts'

export type CompatibleDeployment = Omit<Deployment<State>, 'protocol'>

export function deployCompatible(deployment: CompatibleDeployment, options: ProviderOptions): Model {
  return deploy(
    {
      protocol: openaiChat,
      quirks: compatibleQuirks,
      ownFamily: true,
      thinking: wanted => (typeof wanted === 'string' ? { reasoning_effort: wanted } : wanted),
      ...deployment,
    },
    options,
  )
}

export type CompatibleOptions = Omit<ProviderOptions, 'baseUrl'> & {
  /** Up to and including the version, such as `https://host/v1`. */
  url: string
  /** The server's name in errors and records. */
  name?: string
  /** The environment variable of its key. */
  keyVariable?: string
}

export function compatible({ url, name = 'compatible', keyVariable, ...options }: CompatibleOptions): Model {
  if (typeof url !== 'string' || !/^https?:\/\//.test(url) || 'baseUrl' in options)
    throw new TurnwireError(
      'config_invalid',
      `The provider "${name}" needs the address of the server, up to and including its version: { url: "http://127.0.0.1:8000/v1", model: "…" }.`,
    )
  return deployCompatible({ name, baseUrl: url, ...(keyVariable !== undefined && { keyVariable }) }, options)
}
