// Where the chat is. The server names the page's origin in `server.origins`; a key belongs into a route of your own, not into a page.
import { DefaultChatTransport } from 'ai'

const server = process.env['NEXT_PUBLIC_TURNWIRE_URL'] ?? 'http://127.0.0.1:4117'

export const transport = new DefaultChatTransport({ api: `${server}/ui/helper` })
