// Tools that a person defines in the page. A tool has no code of its own, since the content security policy runs none: it
// answers with something that the page knows, with a fixed text, or with what a person types.
import { isJsonObject, type JsonObject } from '../../../../src/lib/json/index.ts'
import { read, write } from '../../lib/theme.ts'

export const answers = {
  time: 'the local time of this browser',
  window: 'the size of this window',
  text: 'a fixed text',
  person: 'what I type each time',
} as const
export type AnswerKind = keyof typeof answers

export type PageTool = {
  name: string
  description: string
  parameters: JsonObject
  answer: AnswerKind
  text: string
}

const exampleTool: PageTool = {
  name: 'local_time',
  description: 'The local time on the clock of the user’s browser.',
  parameters: { type: 'object', properties: {}, additionalProperties: false },
  answer: 'time',
  text: '',
}

export function readTools(): PageTool[] {
  try {
    const kept: unknown = JSON.parse(read('turnwire-page-tools') ?? 'null')
    return Array.isArray(kept) ? kept.filter(isTool) : [exampleTool]
  } catch {
    return [exampleTool]
  }
}

export function keepTools(tools: readonly PageTool[]): void {
  write('turnwire-page-tools', JSON.stringify(tools))
}

function isTool(value: unknown): value is PageTool {
  return (
    isJsonObject(value) &&
    typeof value['name'] === 'string' &&
    typeof value['description'] === 'string' &&
    typeof value['answer'] === 'string' &&
    Object.hasOwn(answers, value['answer']) &&
    isJsonObject(value['parameters'] ?? null)
  )
}

/** Undefined: a person answers. */
export function fixedAnswer(tool: PageTool): string | undefined {
  switch (tool.answer) {
    case 'time':
      return new Date().toLocaleString()
    case 'window':
      return `${window.innerWidth} by ${window.innerHeight} pixels`
    case 'text':
      return tool.text
    case 'person':
      return undefined
  }
}

export function toolProblem({
  name,
  description,
}: Pick<PageTool, 'name' | 'description'>): string | undefined {
  if (!/^[A-Za-z_][\w-]{0,63}$/.test(name))
    return 'A name has letters, digits, "_" or "-", and begins with a letter.'
  return description.trim() === '' ? 'The model needs a description to know when to call it.' : undefined
}
