// The session as lines for a shell: make one like it and say the same.
import type { SessionView } from '../../../../src/react/index.ts'
import { serverUrl } from '../../lib/mount-path.ts'

export function writeCurl(id: string, view: SessionView): string {
  const said = view.items.flatMap(item =>
    item.type === 'user' ? item.parts.flatMap(part => (part.type === 'text' ? [part.text] : [])) : [],
  )
  const first = said[0] ?? 'Hello'
  const tools = view.settings?.tools
  const body = {
    agent: { name: view.agent, ...(tools && { tools: tools.map(({ name, trust }) => ({ name, trust })) }) },
    messages: [{ role: 'user', content: first }],
  }
  return [
    '# A new session that begins with the same message. With keys: -H "Authorization: Bearer $TURNWIRE_KEY"',
    `curl -s -X PUT ${serverUrl}/session -H 'Content-Type: application/json' -d ${shellQuoted(JSON.stringify(body))}`,
    '# The log of this one',
    `curl -s ${serverUrl}/operator/sessions/${id}/export`,
  ].join('\n')
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
