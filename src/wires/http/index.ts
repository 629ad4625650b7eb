// What all HTTP wires share.
export { readJson, readJsonObject, shaped } from './body.ts'
export { type Failure, failureOf, setRetryHeaders } from './failure.ts'
export { requestKey } from './idempotency.ts'
export { withoutConnectionHeader } from './sdk-answers.ts'
export { RESPONSE_ALREADY_SENT, sendJson, streamJson } from './send.ts'
export { plainErrors, sendFailure } from './send-failure.ts'
export { dataFrame, lastEventId, oneLine, openSse, sseFrame } from './sse.ts'
export type { Held } from './unsent.ts'
