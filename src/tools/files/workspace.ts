// `workspace()` makes the tools for the files of one folder: read, write, edit, patch, list, search, move, delete, and an
// editor in the form that Anthropic's models know. They reach nothing outside of the folder (root.ts), show what they
// change, and refuse to overwrite what someone else has changed.
import type { Tool, ToolContext } from '../../engine/ports/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { FlowRole } from '../../language/flow.ts'
import type { Report } from '../../language/report.ts'
import { privateFolderAround } from '../../lib/files/private-folders.ts'
import type { JsonObject } from '../../lib/json/index.ts'
import { quote } from '../../lib/text/index.ts'
import { type NamedTool, tool } from '../functions/tool.ts'
import { carryOut, planEdit, planPatch, planWrite, preview, reportChanges } from './changes.ts'
import { Disk } from './disk.ts'
import { editorTool } from './editor.ts'
import type { Asker } from './jobs.ts'
import { listTool, readTool, searchTool } from './read-tools.ts'
import { fileError } from './root.ts'
import { done, objectSchema, pathSchema, type Shared } from './shared.ts'
import { Versions } from './versions.ts'

/** Everything that a file holds may be someone else's; the words that a change is answered with are ours. */
const roles: Readonly<Record<string, FlowRole>> = {
  ...({ path: 'path', from: 'path', to: 'path' } as const),
  ...({ content: 'text', old_text: 'text', new_text: 'text', all: 'flag' } as const),
}

const toolNames = ['read', 'list', 'search', 'write', 'edit', 'patch', 'move', 'delete', 'editor'] as const
export type WorkspaceTool = (typeof toolNames)[number]

export type WorkspaceOptions = {
  /** The folder. Nothing outside of it is reached. */
  root: string
  /** Which tools to make. Default: all but `editor`. */
  tools?: readonly WorkspaceTool[]
  /** Put before each name: `docs_` gives `docs_read_file`. */
  prefix?: string
  /** Of the tools that change something. Default `ask`. Those that only read are trusted. */
  trust?: Tool['trust']
  /** Files that are larger are refused. Default 1 MiB. */
  maxFileBytes?: number
  /** Folders that are not searched or listed in depth. Default: `.git` and `node_modules`. */
  ignore?: readonly string[]
  /** Read files that have a second name, which may lie outside of the folder. Default false. */
  hardLinks?: boolean
  /** The vendors' own forms: `text_editor_…` for `editor`, `apply_patch` for `patch`. Other vendors see functions. */
  vendorTyped?: readonly string[]
}

/** The names that its tools have behind the prefix. */
type FileToolName =
  | `${'read' | 'write' | 'edit' | 'move' | 'delete'}_file`
  | `${'list' | 'search'}_files`
  | 'apply_patch'
  | 'file_editor'

export function workspace<Prefix extends string = ''>(
  options: WorkspaceOptions & { prefix?: Prefix },
): NamedTool<`${NoInfer<Prefix>}${FileToolName}`>[] {
  const { root, tools = toolNames.filter(name => name !== 'editor'), prefix = '' } = options
  const { trust = 'ask', ignore = ['.git', 'node_modules'], vendorTyped = [] } = options
  const shared: Shared = {
    disk: openDisk(root, options),
    versions: new Versions(),
    prefix,
    ignored: new Set(ignore),
    reading: { readOnly: true, trust: 'trusted', flow: { output: 'untrusted', private: true } },
    changing: { trust, flow: { output: 'trusted', args: roles } },
  }
  const typed = vendorForms(vendorTyped)
  const made: Record<WorkspaceTool, () => Tool> = {
    read: () => readTool(shared),
    list: () => listTool(shared),
    search: () => searchTool(shared),
    write: () => writeTool(shared),
    edit: () => editTool(shared),
    patch: () => patchTool(shared, typed.patch),
    move: () => moveTool(shared),
    delete: () => deleteTool(shared),
    editor: () => editorTool(shared, typed.editor),
  }
  return tools.map(name => {
    if (!Object.hasOwn(made, name))
      throw invalidPath(`has no tool ${quote(name)}; known are: ${toolNames.join(', ')}`)
    const named = made[name]() as NamedTool<`${Prefix}${FileToolName}`> // Each is named by the prefix and one of these.
    return Object.freeze({
      ...named,
      folder: shared.disk.root.path,
      get unsafe() {
        return privateFolderAround(shared.disk.root.path) === undefined
          ? undefined
          : `works in ${shared.disk.root.path}, which is the data folder or lies in it.`
      },
    })
  })
}

function openDisk(root: unknown, { maxFileBytes = 1024 * 1024, hardLinks = false }: WorkspaceOptions): Disk {
  if (typeof root !== 'string' || root === '')
    throw invalidPath('needs "root": the folder that its tools work in')
  try {
    return new Disk(root, { maxFileBytes, hardLinks })
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it cannot be opened'
    throw invalidPath(`cannot use the folder ${quote(root, 200)}: ${reason}`)
  }
}

function invalidPath(problem: string): TurnwireError {
  return new TurnwireError('invalid_tool', `workspace() ${problem.replace(/\.$/, '')}.`)
}

type VendorForms = Partial<Record<'patch' | 'editor', Record<string, JsonObject>>>

function vendorForms(types: readonly string[]): VendorForms {
  const forms: VendorForms = {}
  for (const type of types) {
    if (type === 'apply_patch') forms.patch = { 'openai-responses': { type } }
    else if (/^text_editor_\d+$/.test(type)) forms.editor = { anthropic: { type } }
    else
      throw invalidPath(`knows no vendor's tool ${quote(type)}; known are: text_editor_20250728, apply_patch`)
  }
  return forms
}

// ---- the tools that change something -------------------------------------------------------------------------

type WriteInput = { path: string; content: string }

function writeTool(shared: Shared): Tool {
  return tool({
    ...shared.changing,
    name: `${shared.prefix}write_file`,
    title: 'Write',
    description:
      'Writes a whole text file of the workspace. Makes the file and its folders if they do not exist. A file that exists must have been read first.',
    input: objectSchema({ path: pathSchema, content: { type: 'string' } }, ['path', 'content']),
    kind: 'edit',
    async preview(input, context) {
      const { path, content } = input as WriteInput // The gate has checked it.
      return preview(shared, context, await planWrite(shared, path, content))
    },
    async run(input, context) {
      const { path, content } = input as WriteInput
      const changes = await planWrite(shared, path, content)
      const report = await carryOut(shared, context, changes)
      return done(`${changes[0]?.before === null ? 'Made' : 'Wrote'} ${changes[0]?.path}.`, report)
    },
  })
}

type EditInput = { path: string; old_text: string; new_text: string; all?: boolean }

function editTool(shared: Shared): Tool {
  const plan = ({ path, old_text, new_text, all = false }: EditInput, asker: Asker) =>
    planEdit(shared, { path, old: old_text, fresh: new_text, all }, asker)
  return tool({
    ...shared.changing,
    name: `${shared.prefix}edit_file`,
    title: 'Edit',
    description:
      'Replaces a text in a file of the workspace. `old_text` must match exactly, spaces included, and occur once; with `all` every occurrence is replaced.',
    input: objectSchema(
      {
        path: pathSchema,
        old_text: { type: 'string', minLength: 1 },
        new_text: { type: 'string' },
        all: { type: 'boolean' },
      },
      ['path', 'old_text', 'new_text'],
    ),
    kind: 'edit',
    preview: async (input, context) => preview(shared, context, await plan(input as EditInput, context)), // checked by the gate
    async run(input, context) {
      const changes = await plan(input as EditInput, context)
      return done(`Edited ${changes[0]?.path}.`, await carryOut(shared, context, changes))
    },
  })
}

const patchFormat = `Changes several files of the workspace at once. The input is a patch:
*** Begin Patch
*** Add File: <path>
+<each line of the new file>
*** Update File: <path>
*** Move to: <new path, if it is moved>
@@ <a line that stands before the change, such as a function's first line>
 <line that stays>
-<line that goes>
+<line that comes>
*** Delete File: <path>
*** End Patch
Give about three lines that stay before and after each change. Paths are relative to the root of the workspace.`

function patchTool(shared: Shared, vendorTyped: Record<string, JsonObject> | undefined): Tool {
  return tool({
    ...shared.changing,
    name: `${shared.prefix}apply_patch`,
    title: 'Patch',
    description: patchFormat,
    input: 'text',
    kind: 'edit',
    ...(vendorTyped && { vendorTyped }),
    preview: async (patch, context) => preview(shared, context, await planPatch(shared, patch, context)),
    async run(patch, context) {
      const changes = await planPatch(shared, patch, context)
      const report = await carryOut(shared, context, changes)
      const word = (before: string | null, after: string | null): string =>
        after === null ? 'D' : before === null ? 'A' : 'M'
      const lines = changes.map(({ path, before, after }) => `${word(before, after)} ${path}`)
      return done(`Done:\n${lines.join('\n')}`, report)
    },
  })
}

type MoveInput = { from: string; to: string }

function moveTool(shared: Shared): Tool {
  const { disk } = shared
  const locations = ({ from, to }: MoveInput): Report => ({
    locations: [from, to].map(path => ({ path: disk.root.absolute(path) })),
  })
  return tool({
    ...shared.changing,
    name: `${shared.prefix}move_file`,
    title: 'Move',
    description: 'Moves or renames a file or a folder of the workspace. The new name must be free.',
    input: objectSchema({ from: pathSchema, to: pathSchema }, ['from', 'to']),
    kind: 'move',
    preview: input => locations(input as MoveInput), // checked by the gate
    run(input, context: ToolContext) {
      const { from, to } = input as MoveInput
      context.report(locations({ from, to }))
      const moved = disk.move(from, to)
      return `Moved ${moved.from} to ${moved.to}.`
    },
  })
}

function deleteTool(shared: Shared): Tool {
  const { disk } = shared
  /** The text of a file that can be shown; anything else is only named. */
  const plan = async (path: string): Promise<Report> => {
    try {
      const { path: found, text } = await disk.read(path)
      return reportChanges(shared, [{ path: found, before: text, after: null }])
    } catch {
      return { locations: [{ path: disk.root.absolute(path) }] }
    }
  }
  return tool({
    ...shared.changing,
    flow: { ...shared.changing.flow, destroys: true },
    name: `${shared.prefix}delete_file`,
    title: 'Delete',
    description: 'Deletes a file, a link, or an empty folder of the workspace.',
    input: objectSchema({ path: pathSchema }, ['path']),
    kind: 'delete',
    preview: input => plan((input as { path: string }).path), // checked by the gate
    async run(input, context) {
      const { path } = input as { path: string }
      if (path.trim() === '') throw fileError(path, 'names no file.')
      const report = await plan(path)
      context.report({ locations: report.locations ?? [] })
      return done(`Deleted ${disk.remove(path)}.`, report)
    },
  })
}
