// The UI message streams of the AI SDK.
import { plainErrorBody, type Wire } from '../wire.ts'
import { Chats } from './chats.ts'
import { uiWire } from './decode.ts'
import { SentMessages } from './sent-messages.ts'
import { uiRoutes } from './serve.ts'
import { uiSocket } from './socket.ts'

export const ui: Wire = {
  name: uiWire,
  paths: ['/ui/<agent>'],
  about: 'AI SDK UI',
  docs: 'docs/protocols/ai-sdk-ui.md',
  serve(host) {
    const chats = new Chats(host)
    const sent = new SentMessages()
    return {
      routes: uiRoutes(host, chats),
      sockets: [
        {
          path: '/ui/:agent/socket',
          open: ({ socket, principal, params }) =>
            uiSocket({ host, chats, sent }, socket, principal, params['agent'] ?? ''),
        },
      ],
    }
  },
  errorBody: plainErrorBody,
  payable: () => true,
}
