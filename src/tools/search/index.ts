// Finding tools among many: the tool that searches, its index of words and its embedder.
export type { EmbedderOptions } from './embedder.ts'
export {
  type FindTools,
  type FindToolsOptions,
  findTools,
  findToolsName,
  type ToolLookup,
} from './find-tools.ts'
