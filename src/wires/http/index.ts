// What all HTTP wires share.
export { readJson, readJsonObject, shaped } from './body.ts'
export { type Failure, failureOf, plainErrors } from './failure.ts'
export { nthOf, requestKey, triesOf } from './idempotency.ts'
export { lazySchemas, type Zod } from './lazy-schemas.ts'
export { dataFrame, lastEventId, oneLine, openSse, RESPONSE_ALREADY_SENT, sseFrame } from './sse.ts'
