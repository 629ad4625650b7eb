// Results of calls that their tools left for later.
import { plainErrorBody, type Wire } from '../wire.ts'
import { callbackRoutes } from './serve.ts'
import { callbackPath } from './token.ts'

export { makeToken } from './token.ts'

export const callbacks: Wire = {
  name: 'callbacks',
  paths: [`${callbackPath}/<token>`],
  about: 'results of calls that their tools left for later',
  docs: 'docs/guide/later.md',
  serve: host => ({ keyless: callbackRoutes(host) }),
  errorBody: plainErrorBody,
}
