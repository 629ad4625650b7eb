// What all HTTP wires share.
export { readJson, readJsonObject, shaped } from './body.ts'
export { type Failure, failureOf, plainErrors } from './failure.ts'
export { requestKey } from './idempotency.ts'
export { RESPONSE_ALREADY_SENT, sendJson } from './send.ts'
export { dataFrame, lastEventId, oneLine, openSse, sseFrame } from './sse.ts'
