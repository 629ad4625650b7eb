// What the stateless doors share. It knows no vendor's words.
export type { Answer, Asked } from './ask.ts'
export { type Spoken, schemaOf, spokenTo, stopsOf } from './formats.ts'
export { HistoryBuilder } from './history.ts'
export { argumentsObject, filePart, imagePart, type Refusal } from './media.ts'
export { answerStream, answerWhole, type StreamEncoder, toldOf } from './serve.ts'
export type { Piece } from './shown.ts'
export { findTarget, originFor, type Target, targetNames } from './target.ts'
