// Resources and prompts of the agent's tool servers in the conversation: /resources lists, /attach adds one to the next message,
// /prompts lists, and /server:prompt says a prompt.
import type { AapClient, Content, ContentBlock } from '../../client/index.ts'
import { promptCommand, readPromptLine } from '../../language/prompt-line.ts'
import type { ServerPrompt, ServerResource } from '../../language/servers.ts'
import { printable } from '../../lib/text/index.ts'
import { UsageError } from '../command.ts'
import type { Styles } from '../style.ts'

export class ChatResources {
  readonly #client: AapClient
  readonly #styles: Styles
  readonly #write: (text: string) => void
  /** The resources that go with the next message. */
  #attached: ContentBlock[] = []

  constructor(client: AapClient, styles: Styles, write: (text: string) => void) {
    this.#client = client
    this.#styles = styles
    this.#write = write
  }

  async #listResources(session: string): Promise<void> {
    const { resources } = await this.#client.getResources(session)
    this.#list(resources.map(lineOfResource), 'No server offers resources.')
  }

  async #listPrompts(session: string): Promise<void> {
    const { prompts } = await this.#client.getPrompts(session)
    this.#list(prompts.map(lineOfPrompt), 'No server offers prompts.')
  }

  /** `words`: `<uri>` or `<server> <uri>`. */
  async #attach(session: string, words: string): Promise<void> {
    const [first, second] = words.split(/\s+/)
    const uri = second ?? first
    if (!uri)
      throw new UsageError('Say which: /attach <uri>, or /attach <server> <uri>. /resources lists them.')
    const server = second === undefined ? await this.#findServer(session, uri) : (first ?? '')
    const { content } = await this.#client.readResource(session, { server, uri })
    this.#attached.push(...toBlocks(content))
    this.#write(`  ${this.#styles.dim(`${printable(uri, 200)} goes with the next message.`)}\n`)
  }

  async #findServer(session: string, uri: string): Promise<string> {
    const { resources } = await this.#client.getResources(session)
    const servers = [...new Set(resources.filter(each => each.uri === uri).map(({ server }) => server))]
    if (servers.length === 1 && servers[0] !== undefined) return servers[0]
    throw new UsageError(
      servers.length === 0
        ? `No server lists ${printable(uri, 200)}. Name the server too: /attach <server> <uri>`
        : `Several servers have it: ${servers.join(', ')}. Write: /attach <server> <uri>`,
    )
  }

  /** The content of a line: a message with its attachments, or a prompt. Undefined: it was a command, or has none. */
  async take(session: string, line: string): Promise<Content | undefined> {
    const [command = ''] = line.split(/\s+/)
    if (!line.startsWith('/'))
      return this.#attached.length === 0 ? line : this.#with([{ type: 'text', text: line }])
    if (command === '/resources') await this.#listResources(session)
    else if (command === '/prompts') await this.#listPrompts(session)
    else if (command === '/attach') await this.#attach(session, line.slice(command.length).trim())
    else return this.#prompt(session, line, command)
    return undefined
  }

  async #prompt(session: string, line: string, command: string): Promise<Content | undefined> {
    const { prompts } = command.includes(':') ? await this.#client.getPrompts(session) : { prompts: [] }
    const call = readPromptLine(line, prompts)
    if (!call) {
      const { red } = this.#styles
      this.#write(`  ${red(`There is no ${printable(command, 40)}.`)} /help lists what there is.\n`)
      return undefined
    }
    const { messages } = await this.#client.getPrompt(session, call)
    return this.#with(messages.flatMap(({ content }) => toBlocks(content)))
  }

  #with(blocks: ContentBlock[]): ContentBlock[] {
    const all = [...this.#attached, ...blocks]
    this.#attached = []
    return all
  }

  #list(lines: readonly string[], otherwise: string): void {
    if (lines.length === 0) this.#write(`  ${this.#styles.dim(otherwise)}\n`)
    for (const line of lines) this.#write(`  ${line}\n`)
  }
}

function toBlocks(content: Content): ContentBlock[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

function lineOfResource({ server, uri, name, title }: ServerResource): string {
  return `${printable(server, 40)}  ${printable(uri, 200)}  ${printable(title ?? name, 80)}`
}

function lineOfPrompt({ arguments: known, description, ...prompt }: ServerPrompt): string {
  const values = known.map(({ name, required }) => (required ? ` ${name}=…` : ` [${name}=…]`)).join('')
  const words = description === undefined ? '' : `  ${printable(description, 120)}`
  return `/${printable(promptCommand(prompt), 120)}${printable(values, 200)}${words}`
}
