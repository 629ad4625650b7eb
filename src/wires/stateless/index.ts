// What the wires of stateless vendor APIs share. It knows no vendor's words.
export { type AnswerForm, formBody, ifObject, ifTexts } from './formats.ts'
export { HistoryBuilder } from './history.ts'
export { argumentsObject, filePart, imagePart } from './media.ts'
export { handleErrors, type StatelessRequest, sendAnswer, streamAnswer } from './serve.ts'
export { findTarget, type ModelTarget, originFor, targetNames } from './target.ts'
