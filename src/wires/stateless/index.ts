// Shared by the wires of stateless vendor APIs. No vendor's wording is here.
export { ifObject, ifTexts, openaiFormat, passedBody } from './formats.ts'
export { HistoryBuilder } from './history.ts'
export { askHosted, type ClientHosted, type HostedPurpose } from './hosted.ts'
export { keepTools } from './known-tools.ts'
export { argumentsObject, filePart, imagePart } from './media.ts'
export { estimateTokens, type StatelessRequest, sendAnswer, streamAnswer, summarising } from './serve.ts'
export {
  adviceFor,
  findTarget,
  type ModelTarget,
  modelInfo,
  originFor,
  targetFor,
  targetNames,
} from './target.ts'
