// A prompt of a server as a person types it: `/server:name`, then its arguments: `name=value`, with quotes around values that
// have blanks. A prompt with one argument takes the rest of the line as its value.

import type { InputPart } from './content.ts'
import { TurnwireError } from './errors.ts'
import type { PromptMessage, ServerPrompt } from './servers.ts'

export type PromptCall = { server: string; name: string; values: Record<string, string> }

export function promptCommand({ server, name }: Pick<ServerPrompt, 'server' | 'name'>): string {
  return `${server}:${name}`
}

/** Undefined: the line names no prompt that there is. Throws `bad_request` if an argument is missing. */
export function readPromptLine(line: string, prompts: readonly ServerPrompt[]): PromptCall | undefined {
  const [, command, rest = ''] = /^\/(\S+)(?:\s+([\s\S]*))?$/.exec(line.trim()) ?? []
  const prompt = prompts.find(each => promptCommand(each) === command)
  if (!prompt) return undefined
  const values = readValues(prompt, rest)
  const missing = prompt.arguments.filter(({ name, required }) => required && values[name] === undefined)
  if (missing.length > 0)
    throw new TurnwireError(
      'bad_request',
      `The prompt needs ${missing.map(({ name }) => name).join(', ')}. Write: /${command}${prompt.arguments
        .map(({ name }) => ` ${name}=…`)
        .join('')}`,
    )
  return { server: prompt.server, name: prompt.name, values }
}

const pair = /(?:^|\s)([^\s=]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))/g

function readValues({ arguments: known }: ServerPrompt, rest: string): Record<string, string> {
  const values = new Map<string, string>()
  for (const [, name = '', quoted, plain = ''] of rest.matchAll(pair))
    if (known.some(each => each.name === name)) values.set(name, quoted?.replace(/\\(.)/gs, '$1') ?? plain)
  const [only] = known
  if (values.size === 0 && only && known.length === 1 && rest !== '') values.set(only.name, rest)
  return Object.fromEntries(values)
}

/** As one message of a user. Texts of the assistant are marked with `[Assistant]`. */
export function promptParts(messages: readonly PromptMessage[]): InputPart[] {
  return messages.flatMap(({ role, parts }) =>
    role === 'user'
      ? parts
      : parts.map(part => (part.type === 'text' ? { ...part, text: `[Assistant] ${part.text}` } : part)),
  )
}
