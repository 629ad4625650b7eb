// Checks tools that are declared as hosted: the vendor runs them. Tools that a vendor only defines, and that its caller
// has to run, are refused here, since nobody would run them; so are plain functions, which belong to an agent.
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'

/** By protocol name: gives the part of a declaration that the caller would have to run; undefined if there is none. */
const runByCaller: Readonly<Record<string, (tool: JsonObject) => string | undefined>> = {
  anthropic: ({ type, input_schema }) => {
    if (input_schema !== undefined) return 'a function'
    return matched(type, /^(?:bash|text_editor|memory|computer|(?:computer|browser)_toolset)_\d+$/)
  },
  'openai-responses': ({ type, environment, execution }) => {
    if (type === 'function' || type === 'custom' || type === 'namespace') return 'a function'
    if (type === 'shell') return isContainer(environment) ? undefined : 'shell'
    if (type === 'tool_search') return execution === 'client' ? 'tool_search' : undefined
    return matched(type, /^(?:computer|computer_use_preview|local_shell|apply_patch)$/)
  },
  'openai-chat': ({ type }) => (type === 'function' || type === 'custom' ? 'a function' : undefined),
  gemini: tool => {
    if (tool['functionDeclarations'] !== undefined || tool['function_declarations'] !== undefined)
      return 'a function'
    return tool['computerUse'] !== undefined || tool['computer_use'] !== undefined ? 'computerUse' : undefined
  },
  'gemini-interactions': ({ type }) => (type === 'function' ? 'a function' : matched(type, /^computer_use$/)),
}

function matched(type: unknown, pattern: RegExp): string | undefined {
  return typeof type === 'string' && pattern.test(type) ? type : undefined
}

/** A container of the vendor's own, in which the vendor runs the commands. */
function isContainer(environment: unknown): boolean {
  const type = isJsonObject(environment) ? environment['type'] : undefined
  return typeof type === 'string' && type.startsWith('container')
}

/** Throws `config_invalid` with what to do instead. */
export function checkHosted(tools: readonly JsonObject[], protocol: string, provider: string): void {
  for (const [at, tool] of tools.entries()) {
    const what = runByCaller[protocol]?.(tool)
    if (what === undefined) continue
    const where = `hosted[${at}] of ${provider}`
    const words =
      what === 'a function'
        ? 'is a function, which the vendor does not run. Give it to an agent with tool({ name, input, run }).'
        : `declares "${what}", which the vendor only defines: whoever asks has to run it, and nobody here would. Give the agent a tool that does it: shell({ root }), workspace({ root }) or tool({ name, input, run }), and say there in "vendorTyped" that this vendor is to see it in its own form.`
    throw new TurnwireError('config_invalid', `${where} ${words}`)
  }
}
