// What the wires of stateless vendor APIs share. It knows no vendor's words.
export { estimateTokens } from './estimate.ts'
export { ifObject, ifTexts, openaiFormat, passedBody } from './formats.ts'
export { HistoryBuilder } from './history.ts'
export { askHosted, type ClientHosted } from './hosted.ts'
export { argumentsObject, filePart, imagePart } from './media.ts'
export { handleErrors, type StatelessRequest, sendAnswer, streamAnswer } from './serve.ts'
export { findTarget, type ModelTarget, modelInfo, originFor, targetNames } from './target.ts'
