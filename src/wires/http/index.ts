// Shared by all HTTP wires.
export { readForm, readJson, readJsonObject, requestKey, shaped } from './body.ts'
export { readCookie, writeCookie } from './cookies.ts'
export { type Failure, toFailure } from './failure.ts'
export { withoutConnectionHeader } from './sdk-answers.ts'
export { plainErrors, RESPONSE_ALREADY_SENT, sendFailure, sendJson, streamJson } from './send.ts'
export { dataFrame, lastEventId, sseFrame } from './stream.ts'
export type { Held } from './unsent.ts'
