// What the stateless doors share. It knows no vendor's words.
export { type Answer, type Asked, ask, Gone } from './ask.ts'
export { HistoryBuilder } from './history.ts'
export { argumentsObject, clientTool, filePart, imagePart, type Refusal } from './media.ts'
export { answerStream, answerWhole, dataFrame, type StreamEncoder, toldOf } from './serve.ts'
export { type Piece, Shown } from './shown.ts'
export { findTarget, isThinker, originFor, type Target, targetNames } from './target.ts'
