// The tools of a workspace that only read: a file, a folder, a search.
import type { Tool } from '../../engine/ports/index.ts'
import { tool } from '../functions/tool.ts'
import { listFolder, searchFolder } from './jobs.ts'
import { mostListed } from './list-lines.ts'
import { fileError } from './root.ts'
import { objectSchema, pathSchema, type Shared } from './shared.ts'

type ReadFileInput = { path: string; line?: number; limit?: number }

export function readTool({ disk, versions, prefix, reading }: Shared): Tool {
  return tool({
    ...reading,
    name: `${prefix}read_file`,
    title: 'Read',
    description:
      'Reads a text file of the workspace. `line` is the first line to read, from 1; `limit` is how many lines.',
    input: objectSchema(
      { path: pathSchema, line: { type: 'integer', minimum: 1 }, limit: { type: 'integer', minimum: 1 } },
      ['path'],
    ),
    kind: 'read',
    async run(input, context) {
      const { path, line = 1, limit } = input as ReadFileInput // The gate has checked it.
      context.report({ locations: [{ path: disk.root.absolute(path), line }] })
      const found = await disk.read(path)
      context.report({ locations: [{ path: disk.root.absolute(found.path), line }] })
      versions.seen(context.session, found.path, found.text)
      return numberLines(found.text, found.path, line, limit)
    },
  })
}

/** The lines that were asked for, and which of how many they are if they are not all. */
function numberLines(text: string, path: string, line: number, limit: number | undefined): string {
  if (text === '') return '(The file is empty.)'
  if (line === 1 && limit === undefined) return text
  const lines = text.replace(/\n$/, '').split('\n')
  if (line > lines.length) throw fileError(path, `has ${lines.length} lines.`)
  const shown = lines.slice(line - 1, limit === undefined ? undefined : line - 1 + limit)
  return `${shown.join('\n')}\n(lines ${line} to ${line + shown.length - 1} of ${lines.length})`
}

export function listTool({ disk, prefix, reading, ignored }: Shared): Tool {
  return tool({
    ...reading,
    name: `${prefix}list_files`,
    title: 'List',
    description:
      'Lists a folder of the workspace. Folders end with "/", links with "@". `depth` is how many levels, 1 by default.',
    input: objectSchema({ path: pathSchema, depth: { type: 'integer', minimum: 1, maximum: 10 } }, []),
    kind: 'read',
    async run(input, context) {
      const { path = '.', depth = 1 } = input as { path?: string; depth?: number } // The gate has checked it.
      context.report({ locations: [{ path: disk.root.absolute(path) }] })
      const lines = await listFolder({ root: disk.root.path, ignored }, path, depth, context)
      if (lines.length === 0) return '(The folder is empty.)'
      const more = lines.length > mostListed ? '\n(There is more: list a folder below.)' : ''
      return lines.slice(0, mostListed).join('\n') + more
    },
  })
}

type SearchInput = { text?: string; regex?: string; glob?: string; path?: string; ignore_case?: boolean }

export function searchTool({ disk, prefix, reading, ignored }: Shared): Tool {
  return tool({
    ...reading,
    name: `${prefix}search_files`,
    title: 'Search',
    description:
      'Searches the files of the workspace: lines that hold `text` or match `regex` (RE2), in files whose path matches `glob` (`*.ts`, `src/**/*.md`, `{a,b}.txt`). Without `text` and `regex` it gives the files that match `glob`.',
    input: objectSchema(
      {
        text: { type: 'string', minLength: 1 },
        regex: { type: 'string', minLength: 1 },
        glob: { type: 'string', minLength: 1 },
        path: pathSchema,
        ignore_case: { type: 'boolean' },
      },
      [],
    ),
    kind: 'search',
    async run(input, context) {
      const { ignore_case: ignoreCase, ...wanted } = input as SearchInput // The gate has checked it.
      const folder = { root: disk.root.path, ignored, ...disk.options }
      const { found, more, unread } = await searchFolder(folder, { ...wanted, ignoreCase }, context)
      const places = found.slice(0, 50).map(({ path, line }) => ({
        path: disk.root.absolute(path),
        ...(line !== undefined && { line }),
      }))
      if (places.length > 0) context.report({ locations: places })
      const lines = found.map(({ path, line, text }) =>
        line === undefined ? path : `${path}:${line}: ${text}`,
      )
      if (lines.length === 0) lines.push('Nothing was found.')
      if (more) lines.push('(There is more: narrow the search.)')
      if (unread > 0) lines.push(`(${unread} files were not searched: not text, or too large.)`)
      return lines.join('\n')
    },
  })
}
