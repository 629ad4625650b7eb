// The definitions of a server's tools that someone has allowed, so that another definition of the same tool asks. A tool that is
// seen first is taken as allowed. A server may rename its tools for ever, so what is kept is limited: once the limit is
// reached, a tool that is not known asks like a changed one, because it may be one that was known before.

import type { Tool } from '../../engine/ports/index.ts'
import { type ToolDeclaration, toolHash } from '../../language/tools.ts'
import { roughSize } from '../../lib/json/plain.ts'
import { present } from '../../lib/json/present.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { printable } from '../../lib/text/index.ts'
import { definitionDifference } from './difference.ts'
import type { AcceptedDefinitions } from './index.ts'

const mostBytes = 8 * 1024 * 1024

export class AcceptedTools {
  /** By name, in the order in which they were allowed. */
  readonly #kept = new Map<string, { tool: ToolDeclaration; bytes: number }>()
  readonly #definitions: AcceptedDefinitions | undefined
  readonly #server: string
  readonly #mostTools: number
  readonly #warn: (words: string) => void
  #bytes = 0

  /** `mostTools`: how many tools the server may have at a time. */
  constructor(
    definitions: AcceptedDefinitions | undefined,
    { server, mostTools, warn }: { server: string; mostTools: number; warn: (words: string) => void },
  ) {
    this.#definitions = definitions
    this.#server = server
    this.#mostTools = mostTools * 2
    this.#warn = warn
    try {
      for (const each of definitions?.load() ?? []) this.#put(each)
    } catch (error) {
      this.#warn(`The definitions of "${server}" could not be read: ${printable(errorMessage(error), 300)}`)
    }
  }

  /** Takes those that are seen for the first time as allowed, as long as there is room. */
  meet(tools: readonly Tool[]): void {
    const fresh = tools.filter(tool => !this.#kept.has(tool.name))
    let count = 0
    for (const tool of fresh) if (this.#hasRoom(tool)) count += Number(this.#put(acceptedPart(tool)))
    if (count < fresh.length)
      this.#warn(
        `The MCP server "${this.#server}" has had too many tools to remember them all. New ones ask until they are allowed.`,
      )
    if (count > 0) this.#save()
  }

  /** Someone has allowed this definition. Makes room for it: `current` are the names of the tools that the server has now. */
  allow(tool: Tool, current: ReadonlySet<string>): void {
    const gone = [...this.#kept.keys()].filter(name => name !== tool.name && !current.has(name))
    while (!this.#hasRoom(tool) && gone.length > 0) this.#drop(gone.shift() ?? '')
    this.#put(acceptedPart(tool))
    this.#save()
  }

  /** The change that a person must be told before the tool is called. Undefined if this definition was allowed. */
  describeChange(tool: Tool): string | undefined {
    if (!this.#kept.has(tool.name))
      return 'The tool is new, and its server has had too many others to know whether it was another one before.'
    const other = this.otherThan(tool)
    return other && definitionDifference(other, tool)
  }

  /** The definition that was allowed, if it is another one. */
  otherThan(tool: Tool): ToolDeclaration | undefined {
    const accepted = this.#kept.get(tool.name)?.tool
    return accepted === undefined || toolHash(accepted) === toolHash(tool) ? undefined : accepted
  }

  #hasRoom(tool: Tool): boolean {
    const { bytes = 0 } = this.#kept.get(tool.name) ?? {}
    const isNew = !this.#kept.has(tool.name)
    return (
      this.#kept.size + Number(isNew) <= this.#mostTools &&
      this.#bytes - bytes + roughSize(acceptedPart(tool)) <= mostBytes
    )
  }

  #put(tool: ToolDeclaration): true {
    this.#drop(tool.name)
    const bytes = roughSize(tool)
    this.#kept.set(tool.name, { tool, bytes })
    this.#bytes += bytes
    return true
  }

  #drop(name: string): void {
    this.#bytes -= this.#kept.get(name)?.bytes ?? 0
    this.#kept.delete(name)
  }

  #save(): void {
    try {
      this.#definitions?.save([...this.#kept.values()].map(({ tool }) => tool))
    } catch (error) {
      this.#warn(
        `The definitions of "${this.#server}" could not be kept: ${printable(errorMessage(error), 300)}`,
      )
    }
  }
}

/** The fields of a definition that its hash covers. */
function acceptedPart(tool: Tool): ToolDeclaration {
  const { name, title, description, input, output, kind, readOnly, idempotent, destructive } = tool
  const { side, server, flow } = tool
  return {
    name,
    description,
    input,
    kind,
    readOnly,
    idempotent,
    destructive,
    side,
    ...present({ title, output, server, flow }),
  }
}
