// The tools that Anthropic defines and a client declares by their type. The vendor runs some of them, the client runs the
// others. A model of Anthropic is given every declaration as it came. A model of another vendor is given that vendor's own
// tool where it has one for the same purpose; a tool that the client runs becomes a function with the same arguments, if
// these can be said in a schema.
import type { ToolDeclaration } from '../../language/tools.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { clientTool } from '../own-tools.ts'
import type { HostedPurpose } from '../stateless/index.ts'

/** `plain`: the tool as a function, for models of other vendors. */
export type VendorTool = { purpose: HostedPurpose; plain?: (name: string) => ToolDeclaration }

const kinds: readonly [type: RegExp, tool: VendorTool][] = [
  // A model whose vendor cannot search tools is declared all of them.
  [/^tool_search_tool_/, { purpose: 'tools' }],
  [/^web_search_\d+$/, { purpose: 'search' }],
  [/^web_fetch_\d+$/, { purpose: 'fetch' }],
  [/^code_execution_\d+$/, { purpose: 'code' }],
  [/^mcp_toolset$/, { purpose: 'mcp' }],
  [/^(?:computer|browser)(?:_toolset)?_\d+$/, { purpose: 'screen' }],
  [/^bash_\d+$/, { purpose: 'own', plain: bash }],
  [/^text_editor_\d+$/, { purpose: 'own', plain: editor }],
  [/^memory_\d+$/, { purpose: 'own', plain: memory }],
]

/** Undefined: it is not known here. */
export function vendorTool(type: string): VendorTool | undefined {
  return kinds.find(([pattern]) => pattern.test(type))?.[1]
}

const text = (description: string): JsonObject => ({ type: 'string', description })

function bash(name: string): ToolDeclaration {
  return clientTool(
    name,
    'Runs a command in a bash session that stays open from call to call, and gives what it printed.',
    {
      form: 'json',
      schema: {
        type: 'object',
        properties: {
          command: text('The command. Needed unless the session is restarted.'),
          restart: { type: 'boolean', description: 'Restarts the session in place of a command.' },
        },
      },
    },
  )
}

const viewRange: JsonObject = {
  type: 'array',
  items: { type: 'integer' },
  minItems: 2,
  maxItems: 2,
  description: 'For `view`: the first and the last line, counted from 1. -1 as the last means the end.',
}

const edits: JsonObject = {
  path: text('The file or folder.'),
  view_range: viewRange,
  file_text: text('For `create`: the content of the file.'),
  old_str: text('For `str_replace`: the text to replace, exactly as it stands there, and only once.'),
  new_str: text('For `str_replace`: the new text.'),
  insert_line: { type: 'integer', description: 'For `insert`: the line after which. 0 is the beginning.' },
  insert_text: text('For `insert`: the text.'),
}

function commands(names: readonly string[], properties: JsonObject, required: readonly string[]): JsonObject {
  return {
    type: 'object',
    properties: { command: { type: 'string', enum: [...names] }, ...properties },
    required: ['command', ...required],
  }
}

function editor(name: string): ToolDeclaration {
  const schema = commands(['view', 'create', 'str_replace', 'insert'], edits, ['path'])
  return clientTool(name, 'Views, creates and edits text files.', { form: 'json', schema })
}

function memory(name: string): ToolDeclaration {
  const moved = {
    old_path: text('For `rename`: the path now.'),
    new_path: text('For `rename`: the new path.'),
  }
  const names = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename']
  const schema = commands(names, { ...edits, ...moved }, [])
  const about =
    'Keeps notes as files under /memories from one conversation to the next. View that folder before you begin a task, and note there what is worth keeping.'
  return clientTool(name, about, { form: 'json', schema })
}
