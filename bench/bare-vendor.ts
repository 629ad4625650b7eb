// The loop over HTTP that anyone would write first, with nothing stored and nothing checked: ask a vendor that speaks
// Anthropic's stream, gather the answer, run the call, ask again.
import { type Agent, request } from 'node:http'
import type { PeerTool } from './peers.ts'

type Block = { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: unknown }
type Event = {
  type: string
  index: number
  content_block: { type: string; id: string; name: string }
  delta: { type: string; text?: string; partial_json?: string }
}

type Watch = (delta: Event['delta']) => void

/** Everything of an answer, by events as they come; `watch` is shown each delta. */
function decoder(watch: Watch): { push(chunk: string): void; blocks(): Block[] } {
  const open: { type: string; id: string; name: string; text: string }[] = []
  let rest = ''
  const take = (event: Event): void => {
    if (event.type === 'content_block_start') open[event.index] = { ...event.content_block, text: '' }
    if (event.type !== 'content_block_delta') return
    const block = open[event.index]
    if (block) block.text += event.delta.text ?? event.delta.partial_json ?? ''
    watch(event.delta)
  }
  return {
    push(chunk) {
      rest += chunk
      let from = 0
      for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n', from)) {
        take(JSON.parse(rest.slice(rest.indexOf('data: ', from) + 6, end)))
        from = end + 2
      }
      rest = rest.slice(from)
    },
    blocks: () =>
      open.map(({ type, id, name, text }) =>
        type === 'text' ? { type, text } : { type: 'tool_use', id, name, input: JSON.parse(text) },
      ),
  }
}

export type Vendor = { agent: Agent; port: number; path: string }

function ask({ agent, port, path }: Vendor, body: string, watch: Watch): Promise<Block[]> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = request({ agent, port, host: '127.0.0.1', path, method: 'POST', headers }, response => {
      const answer = decoder(watch)
      response.setEncoding('utf8')
      response.on('data', chunk => answer.push(chunk))
      response.on('end', () => resolve(answer.blocks()))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/**
 * A conversation whose messages are kept as the bytes that they are sent as. `commit`: where a durable one would sync, with the
 * messages since the last time.
 */
export function bareConversation(
  vendor: Vendor,
  used: PeerTool,
  question: string,
  watch: Watch,
  commit?: (messages: readonly string[]) => void,
) {
  const { name, description, schema } = used
  const model = 'claude-sonnet-4-6'
  const head = `{"model":"${model}","max_tokens":4096,"stream":true,"tools":${JSON.stringify([{ name, description, input_schema: schema }])},"messages":[`
  const messages: string[] = []
  let committed = 0
  return async (): Promise<void> => {
    messages.push(JSON.stringify({ role: 'user', content: [{ type: 'text', text: question }] }))
    for (;;) {
      const content = await ask(vendor, `${head}${messages.join(',')}]}`, watch)
      messages.push(JSON.stringify({ role: 'assistant', content }))
      commit?.(messages.slice(committed))
      committed = messages.length
      const results: unknown[] = []
      for (const block of content) {
        if (block.type !== 'tool_use') continue
        const text = await used.run(block.input as Parameters<PeerTool['run']>[0])
        results.push({ type: 'tool_result', tool_use_id: block.id, content: text })
      }
      if (results.length === 0) return
      messages.push(JSON.stringify({ role: 'user', content: results }))
    }
  }
}
