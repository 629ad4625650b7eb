// Any server that speaks Chat Completions, by its address. The named ones beside this file are this with an
// address, a variable and the quirks that are known of them.
import type { Model } from '../../engine/ports.ts'
import { compatibleQuirks, openaiChat, type State } from '../protocols/openai-chat.ts'
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
  /** How the server is called in words and records. */
  name?: string
  /** The variable that holds its key. */
  keyVariable?: string
}

export function compatible({ url, name = 'compatible', keyVariable, ...options }: CompatibleOptions): Model {
  return deployCompatible({ name, baseUrl: url, ...(keyVariable !== undefined && { keyVariable }) }, options)
}
