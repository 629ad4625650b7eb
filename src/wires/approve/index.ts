// A page for one person to decide about one call, by a link that works once.

import { approvePath } from '../approval-link.ts'
import { plainErrorBody, type Wire } from '../wire.ts'
import { approveRoutes } from './serve.ts'

export const approve: Wire = {
  name: 'approve',
  paths: [`${approvePath}/<token>`],
  about: 'a page for one person to decide about one call',
  docs: 'docs/guide/webhooks.md',
  serve: host => ({ keyless: approveRoutes(host) }),
  errorBody: plainErrorBody,
}
