// A server's question to a person (elicitation) as a question of the running call: durable, and shown on every wire that
// can show it. The message names the server, since a form or an address does not show where it comes from.
import type { ElicitRequestParams, ElicitResult } from '@modelcontextprotocol/client'
import type { ToolContext } from '../../engine/ports/index.ts'
import type { FormSchema } from '../../language/questions.ts'
import { printable } from '../../lib/text/index.ts'

/** Asks a person. Throws if the question is no valid form and no http address. */
export async function askPerson(
  question: ElicitRequestParams,
  server: string,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ElicitResult> {
  const message = `The MCP server "${server}" asks: ${printable(question.message, 5_000)}`
  const asked =
    question.mode === 'url'
      ? { message, url: question.url }
      : // It is checked by `ask`, which throws at what is no form.
        { message, schema: question.requestedSchema as unknown as FormSchema }
  const answer = await context.ask(asked, { signal })
  if (answer.action !== 'accept') return { action: answer.action }
  return answer.content ? { action: 'accept', content: answer.content } : { action: 'accept' }
}
