// A message in the form of Slack's Block Kit, and how it is posted to an incoming webhook. Without a link there is no button.
import type { Message } from './receiver.ts'

export type SlackMessage = { text: string; blocks: object[] }

export function slackMessage({ type, data }: Message): SlackMessage {
  const text = plain(
    type === 'approval.requested'
      ? `${data.agent} wants to run ${data.tool}.`
      : `${data.agent}: ${type} (${data.stop ?? data.tool ?? ''})`,
  )
  // A section holds 3,000 characters, and one of these can become five.
  const why = data.reason === undefined ? '' : `\n${plain(data.reason.slice(0, 500))}`
  const section = { type: 'section', text: { type: 'mrkdwn', text: text + why } }
  if (!data.link) return { text, blocks: [section] }
  const label = { type: 'plain_text', text: 'Look and decide' }
  const button = { type: 'button', text: label, url: data.link.url, action_id: 'decide' }
  return { text, blocks: [section, { type: 'actions', elements: [button] }] }
}

/** `address`: of the incoming webhook. It is a secret. */
export async function postToSlack(address: string, message: SlackMessage): Promise<void> {
  const answer = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(message),
  })
  if (!answer.ok) throw new Error(`Slack answered ${answer.status} ${await answer.text()}`)
}

/** Without it a reason could hold a link of its own, or call everyone in the channel. */
function plain(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
