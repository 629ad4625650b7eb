// One function per provider; each makes a model.
export { anthropic } from './anthropic.ts'
export { type AzureOptions, azureOpenai } from './azure-openai.ts'
export {
  type CompatibleOptions,
  compatible,
  deepseek,
  groq,
  lmStudio,
  mistral,
  ollama,
  openrouter,
  together,
  vllm,
  xai,
} from './compatible.ts'
export { modelFamily, type ProviderOptions, type Secret } from './deployment.ts'
export { gemini } from './gemini.ts'
export { geminiInteractions } from './gemini-interactions.ts'
export { openai } from './openai.ts'
export { openaiChat } from './openai-chat.ts'
export { type VertexOptions, vertex } from './vertex.ts'
