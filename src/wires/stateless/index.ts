// What the wires of stateless vendor APIs share. It knows no vendor's words.
export { estimateTokens } from './estimate.ts'
export { ifObject, ifTexts, openaiFormat, passedBody } from './formats.ts'
export { HistoryBuilder } from './history.ts'
export { askHosted, type ClientHosted, type HostedPurpose } from './hosted.ts'
export { argumentsObject, filePart, imagePart } from './media.ts'
export { type StatelessRequest, sendAnswer, streamAnswer } from './serve.ts'
export { summarising } from './summary.ts'
export {
  adviceFor,
  findTarget,
  type ModelTarget,
  modelInfo,
  originFor,
  targetFor,
  targetNames,
} from './target.ts'
