// Where the chat is, and when it goes on by itself. The server names the page's origin in `server.origins`; a key belongs into a route of
// your own, not into a page.
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'

// Next.js puts its value in place of exactly this expression.
const server = process.env.NEXT_PUBLIC_TURNWIRE_URL ?? 'http://127.0.0.1:4117'

export const chat = {
  transport: new DefaultChatTransport({ api: `${server}/ui/clerk` }),
  // Without it an approval stays in the page.
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
}
