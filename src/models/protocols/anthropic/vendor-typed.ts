// The tools that Anthropic defines and its caller runs, and how their calls become calls of ours. Their results are ordinary
// `tool_result` blocks. How another one is bound is said in common/vendor-typed.ts.

import type { ToolDeclaration } from '../../../language/tools.ts'
import { isJsonObject, type JsonObject, parseObject } from '../../../lib/json/index.ts'
import { asString } from '../../common/json-read.ts'
import type { BoundTool, VendorTyped } from '../../common/vendor-typed.ts'
import { computerTool, computerToolset } from './computer.ts'

/** A tool whose calls come under one name that the vendor has chosen. Its arguments are ours unless `more` reads them. */
function named(
  type: RegExp,
  nameOf: (type: string) => string,
  more: Pick<VendorTyped, 'read' | 'write'> = {},
): VendorTyped {
  return {
    type,
    form: 'json',
    declare: given => ({ ...given, name: nameOf(asString(given['type'])) }),
    isCall: (call, declared) => call['name'] === declared['name'] && !hasToolset(call),
    ...more,
  }
}

const hasToolset = ({ toolset_name: toolset }: JsonObject): boolean =>
  toolset !== undefined && toolset !== null

/** The first versions of the editor had another name. */
const editorName = (type: string): string =>
  /^text_editor_(?:20241022|20250124)$/.test(type) ? 'str_replace_editor' : 'str_replace_based_edit_tool'

export const anthropicTyped: readonly VendorTyped[] = [
  named(/^bash_\d+$/, () => 'bash', { read: readBash, write: writeBash }),
  named(/^text_editor_\d+$/, editorName),
  named(/^memory_\d+$/, () => 'memory'),
  computerTool,
  computerToolset,
]

/** `{ command }` or `{ restart: true }`: our shell takes a list of commands. */
function readBash({ input }: JsonObject): string {
  const { command, ...rest } = isJsonObject(input) ? input : {}
  return JSON.stringify(command === undefined ? rest : { commands: [command], ...rest })
}

function writeBash(text: string): JsonObject | undefined {
  const { commands, restart } = parseObject(text) ?? {}
  if (restart === true) return { input: { restart } }
  return Array.isArray(commands) && commands.every(command => typeof command === 'string')
    ? { input: { command: commands.join('\n') } }
    : undefined
}

/**
 * The names of the vendor's tools that a caller has declared as they are and runs itself. Its calls of them keep these names,
 * unless a tool of ours has the same.
 */
export function callersNames(
  hosted: readonly JsonObject[],
  tools: readonly ToolDeclaration[],
): Map<string, string> {
  const own = new Set(tools.map(tool => tool.name))
  const isRun = ({ type }: JsonObject): boolean => anthropicTyped.some(each => each.type.test(asString(type)))
  return new Map(
    hosted
      .filter(isRun)
      .map(({ name }) => asString(name))
      .filter(name => name !== '' && !own.has(name))
      .map(name => [name, name]),
  )
}

/** Our name → the vendor's, of the tools that have one. */
export function fixedNames(bound: readonly BoundTool[]): Map<string, string> {
  return new Map(
    bound.flatMap(({ tool, declared }) =>
      typeof declared['name'] === 'string' ? [[tool.name, declared['name']] as const] : [],
    ),
  )
}
