// Gemini on Google Cloud. Access tokens last an hour: give a function that fetches one, or renew the variable.
import type { Model } from '../../engine/ports/index.ts'
import { geminiGenerate } from '../protocols/gemini/index.ts'
import { deploy, type ProviderOptions, requiredVariable } from './deployment.ts'
import { geminiThinking } from './gemini.ts'

export type VertexOptions = ProviderOptions & { project?: string; location?: string }

export function vertex(options: VertexOptions): Model {
  const baseUrl = (): string => {
    const project = options.project ?? requiredVariable('vertex', 'GOOGLE_CLOUD_PROJECT', 'project')
    const location = options.location ?? process.env['GOOGLE_CLOUD_LOCATION'] ?? 'global'
    const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`
    return `https://${host}/v1/projects/${project}/locations/${location}/publishers/google`
  }
  const keyVariable = 'GOOGLE_ACCESS_TOKEN'
  return deploy(
    {
      name: 'vertex',
      protocol: geminiGenerate,
      baseUrl,
      keyVariable,
      ownFamily: true,
      ownModels: true,
      thinking: geminiThinking,
      ownOptions: ['project', 'location'] satisfies (keyof VertexOptions)[],
    },
    options,
  )
}
