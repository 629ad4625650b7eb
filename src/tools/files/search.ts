// Finds files by a pattern of their names, and lines by text or a regular expression. Bounded in files, bytes, time and
// results. Expressions are RE2, so none of them takes exponential time. Links are never followed.
import { RE2JS } from 're2js'
import { InvalidInput } from '../../engine/ports.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { Disk } from './disk.ts'
import { PathRefused } from './root.ts'

export type SearchInput = {
  text?: string | undefined
  regex?: string | undefined
  glob?: string | undefined
  path?: string | undefined
  ignoreCase?: boolean | undefined
}

export type Found = { path: string; line?: number; text?: string }
export type SearchResult = { found: Found[]; more: boolean; unread: number }

const most = { results: 200, entries: 50_000, milliseconds: 20_000, lineLength: 300 }

export async function search(
  disk: Disk,
  { text, regex, glob, path = '.', ignoreCase = false }: SearchInput,
  ignored: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<SearchResult> {
  const isMatch = lineMatcher(text, regex, ignoreCase)
  const isWanted = glob === undefined ? () => true : globMatcher(glob)
  const result: SearchResult = { found: [], more: false, unread: 0 }
  const until = performance.now() + most.milliseconds
  for (const file of walkFiles(disk, path, ignored)) {
    if (file === undefined || result.found.length >= most.results || performance.now() > until) {
      result.more = true
      break
    }
    signal.throwIfAborted()
    if (!isWanted(file)) continue
    if (!isMatch) result.found.push({ path: file })
    else await searchFile(disk, file, isMatch, result)
  }
  return result
}

type LineMatch = (line: string) => boolean

async function searchFile(disk: Disk, path: string, isMatch: LineMatch, result: SearchResult): Promise<void> {
  let text: string
  try {
    text = (await disk.read(path)).text
  } catch (error) {
    if (!(error instanceof PathRefused)) throw error
    result.unread += 1
    return
  }
  for (const [at, line] of text.split('\n').entries()) {
    if (!isMatch(line)) continue
    if (result.found.length >= most.results) {
      result.more = true
      return
    }
    result.found.push({ path, line: at + 1, text: line.slice(0, most.lineLength).trimEnd() })
  }
}

/** Every file below a path, folder by folder. Undefined: there are too many. */
export function* walkFiles(
  disk: Disk,
  path: string,
  ignored: ReadonlySet<string>,
): Generator<string | undefined> {
  const open = [disk.list(path).path]
  let count = 0
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    const inside: string[] = []
    for (const { name, kind } of listed(disk, folder)) {
      if (++count > most.entries) return yield undefined
      const at = folder === '' ? name : `${folder}/${name}`
      if (kind === 'file') yield at
      else if (kind === 'folder' && !ignored.has(name)) inside.push(at)
    }
    open.push(...inside.reverse())
  }
}

/** A folder that is gone by now, or may not be read, is empty. */
function listed(disk: Disk, folder: string): ReturnType<Disk['list']>['entries'] {
  try {
    return disk.list(folder === '' ? '.' : folder).entries
  } catch (error) {
    if (error instanceof PathRefused) return []
    throw error
  }
}

function lineMatcher(
  text: string | undefined,
  regex: string | undefined,
  ignoreCase: boolean,
): LineMatch | undefined {
  if (text !== undefined && regex !== undefined) throw new InvalidInput('Give "text" or "regex", not both.')
  if (regex !== undefined) {
    const compiled = compile(regex, ignoreCase, '"regex"')
    return line => compiled.matcher(line).find()
  }
  if (text === undefined) return undefined
  if (text === '') throw new InvalidInput('"text" is empty.')
  const wanted = ignoreCase ? text.toLowerCase() : text
  return line => (ignoreCase ? line.toLowerCase() : line).includes(wanted)
}

function compile(pattern: string, ignoreCase: boolean, what: string): RE2JS {
  try {
    return RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0)
  } catch (error) {
    throw new InvalidInput(`${what} is not a regular expression that can be used: ${errorMessage(error)}`)
  }
}

/** `*` and `?` stay within a name, `**` crosses folders, `{a,b}` is either. A glob without `/` matches names anywhere. */
export function globMatcher(glob: string): (path: string) => boolean {
  const whole = glob.includes('/') ? glob.replace(/^\.?\//, '') : `**/${glob}`
  const pattern = compile(`^(?:${globPattern(whole)})$`, false, '"glob"')
  return path => pattern.matcher(path).find()
}

function globPattern(glob: string): string {
  let pattern = ''
  let depth = 0
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at]!
    if (glob.startsWith('**/', at)) {
      pattern += '(?:.*/)?'
      at += 2
    } else if (glob.startsWith('**', at)) {
      pattern += '.*'
      at += 1
    } else if (char === '*') pattern += '[^/]*'
    else if (char === '?') pattern += '[^/]'
    else if (char === '{') {
      depth += 1
      pattern += '(?:'
    } else if (char === '}' && depth > 0) {
      depth -= 1
      pattern += ')'
    } else if (char === ',' && depth > 0) pattern += '|'
    else pattern += char.replace(/[\\^$.|+()[\]{}]/, '\\$&')
  }
  return pattern + ')'.repeat(depth)
}
