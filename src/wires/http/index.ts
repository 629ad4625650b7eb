// What all HTTP wires share.
export { readJson, readJsonObject } from './body.ts'
export { type Failure, failureOf } from './failure.ts'
export { requestKey } from './idempotency.ts'
export { lastEventId, openSse, RESPONSE_ALREADY_SENT, sseFrame } from './sse.ts'
