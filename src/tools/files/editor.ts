// The editor in the form that Anthropic's models are trained on (`text_editor_…`): one tool with the commands view, create,
// str_replace and insert. For any other model it is a function of the same form.
import { InvalidInput, type Tool, type ToolContext } from '../../engine/ports/index.ts'
import type { FlowRole } from '../../language/flow.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { tool } from '../functions/tool.ts'
import { carryOut, type PlannedChange, planEdit, planWrite, preview } from './changes.ts'
import { type Asker, listFolder } from './jobs.ts'
import { fileError } from './root.ts'
import { done, objectSchema, type Shared } from './shared.ts'

type EditorInput = {
  command: 'view' | 'create' | 'str_replace' | 'insert'
  path: string
  view_range?: [number, number]
  file_text?: string
  old_str?: string
  new_str?: string
  insert_line?: number
  insert_text?: string
}

const schema = objectSchema(
  {
    command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
    path: { type: 'string', minLength: 1 },
    view_range: {
      type: 'array',
      items: { type: 'integer' },
      minItems: 2,
      maxItems: 2,
      description: 'First and last line, from 1; -1 as the last is the end.',
    },
    file_text: { type: 'string', description: 'For create: the whole file.' },
    old_str: { type: 'string', description: 'For str_replace: must match exactly, and once.' },
    new_str: { type: 'string' },
    insert_line: {
      type: 'integer',
      minimum: 0,
      description: 'For insert: after this line; 0 is the beginning.',
    },
    insert_text: { type: 'string' },
  },
  ['command', 'path'],
)

const roles: Readonly<Record<string, FlowRole>> = {
  ...({ command: 'flag', path: 'path', insert_line: 'detail', view_range: 'detail' } as const),
  ...({ file_text: 'text', old_str: 'text', new_str: 'text', insert_text: 'text' } as const),
}

export function editorTool(shared: Shared, vendorTyped: Record<string, JsonObject> | undefined): Tool {
  return tool({
    ...shared.changing,
    // It shows files, too.
    flow: { output: 'untrusted', args: roles },
    name: `${shared.prefix}file_editor`,
    title: 'Editor',
    description:
      'Views, makes and edits text files of the workspace. `view` shows a file with line numbers, or a folder; `create` writes a whole file; `str_replace` replaces a text that occurs once; `insert` puts lines after a line.',
    input: schema,
    kind: 'edit',
    ...(vendorTyped && { vendorTyped }),
    async preview(input, context) {
      const given = input as EditorInput // The gate has checked it.
      if (given.command !== 'view') return preview(shared, context, await plan(shared, given, context))
      return { locations: [{ path: shared.disk.root.absolute(given.path) }] }
    },
    async run(input, context) {
      const given = input as EditorInput
      if (given.command === 'view') return view(shared, given, context)
      const changes = await plan(shared, given, context)
      // `create` replaces a file as the vendor defines it, so the model is taken to know that it does.
      const [change] = changes
      if (
        given.command === 'create' &&
        change?.before != null &&
        !shared.versions.hasRead(context.session, change.path)
      )
        shared.versions.seen(context.session, change.path, change.before)
      const report = await carryOut(shared, context, changes)
      return done(
        `The file ${change?.path} has been ${change?.before === null ? 'created' : 'edited'}.`,
        report,
      )
    },
  })
}

async function view(
  { disk, versions, ignored }: Shared,
  { path, view_range: range }: EditorInput,
  context: ToolContext,
): Promise<string> {
  if (disk.isFolder(path)) {
    const lines = await listFolder({ root: disk.root.path, ignored }, path, 2, context)
    return lines.join('\n') || '(The folder is empty.)'
  }
  const found = await disk.read(path)
  versions.seen(context.session, found.path, found.text)
  const lines = found.text.replace(/\n$/, '').split('\n')
  const [first = 1, last = -1] = range ?? []
  const end = last === -1 ? lines.length : last
  if (first < 1 || first > lines.length || end < first)
    throw fileError(found.path, `has ${lines.length} lines, so ${first} to ${last} cannot be shown.`)
  return lines
    .slice(first - 1, end)
    .map((line, at) => `${String(first + at).padStart(6)}\t${line}`)
    .join('\n')
}

function plan(shared: Shared, given: EditorInput, asker: Asker): Promise<PlannedChange[]> {
  const { command, path, file_text: text, old_str: old, new_str: fresh = '' } = given
  if (command === 'create') return planWrite(shared, path, needed(text, 'file_text', command))
  if (command === 'str_replace') {
    const edit = { path, old: needed(old, 'old_str', command), fresh, all: false }
    return planEdit(shared, edit, asker)
  }
  return planInsert(shared, given)
}

async function planInsert(
  { disk }: Shared,
  { path, insert_line: after, insert_text: text, new_str: older }: EditorInput,
): Promise<PlannedChange[]> {
  const { path: found, text: before, mode } = await disk.read(path)
  const lines = before === '' ? [] : before.split(/(?<=\n)/)
  const at = needed(after, 'insert_line', 'insert')
  if (at > lines.length) throw fileError(found, `has ${lines.length} lines.`)
  // Earlier versions of the editor called it `new_str`.
  const given = needed(text ?? older, 'insert_text', 'insert')
  const whole = given.endsWith('\n') ? given : `${given}\n`
  const head = lines.slice(0, at).join('')
  const joined = head === '' || head.endsWith('\n') ? head : `${head}\n`
  return [{ path: found, before, after: `${joined}${whole}${lines.slice(at).join('')}`, mode }]
}

function needed<Value>(value: Value | undefined, name: string, command: string): Value {
  if (value === undefined) throw new InvalidInput(`The command "${command}" needs "${name}".`)
  return value
}
