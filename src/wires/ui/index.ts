// The UI message streams of the AI SDK.
import { plainErrorBody, type Wire } from '../wire.ts'
import { uiWire } from './decode.ts'
import { uiRoutes } from './serve.ts'

export const ui: Wire = {
  name: uiWire,
  paths: ['/ui/<agent>'],
  about: 'AI SDK UI',
  docs: 'docs/protocols/ai-sdk-ui.md',
  serve: host => ({ routes: uiRoutes(host) }),
  errorBody: plainErrorBody,
  payable: () => true,
}
