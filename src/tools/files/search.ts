// Finds files by a pattern of their names, and lines by text or a regular expression. Bounded in files, bytes, time and
// results. Expressions are RE2, so none of them takes exponential time. Links are never followed. It runs in the threads for
// files (jobs.ts), which are ended when a search takes too long.
import { closeSync } from 'node:fs'
import { RE2JS } from 're2js'
import { InvalidInput } from '../../engine/ports/index.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { decodeText, readAllSync } from './read-text.ts'
import { openFile, PathRefused, type Root, type RootPlace } from './root.ts'
import { mostDepth, walkFolder } from './walk-folder.ts'

export type SearchInput = {
  text?: string | undefined
  regex?: string | undefined
  glob?: string | undefined
  path?: string | undefined
  ignoreCase?: boolean | undefined
}

export type FoundLine = { path: string; line?: number; text?: string }
export type SearchResult = { found: FoundLine[]; more: boolean; unread: number }

/** CPU time: less than a job of the threads has, so that what was found by then is told. */
const most = { results: 200, entries: 50_000, cpuMs: 4_000, lineLength: 300 }

export type SearchOptions = { maxFileBytes: number; hardLinks: boolean; ignored: ReadonlySet<string> }

export function search(root: Root, input: SearchInput, options: SearchOptions): SearchResult {
  const { text, regex, glob, path = '.', ignoreCase = false } = input
  const isMatch = lineMatcher(text, regex, ignoreCase)
  const isWanted = glob === undefined ? () => true : globMatcher(glob)
  const result: SearchResult = { found: [], more: false, unread: 0 }
  const began = process.threadCpuUsage()
  let count = 0
  for (const entry of walkFolder(root, path, { ...options, depth: mostDepth, foldersLast: true })) {
    if (entry === 'deeper') {
      result.more = true
      continue
    }
    count += 1
    if (count > most.entries || result.found.length >= most.results || isLate(began)) {
      result.more = true
      break
    }
    if (entry.kind !== 'file' || !isWanted(entry.place.path)) continue
    if (!isMatch) result.found.push({ path: entry.place.path })
    else searchFile(root, entry.place, isMatch, options, result)
  }
  return result
}

function isLate(began: NodeJS.CpuUsage): boolean {
  const { user, system } = process.threadCpuUsage(began)
  return user + system > most.cpuMs * 1000
}

type LineMatch = (line: string) => boolean

function searchFile(
  root: Root,
  place: RootPlace,
  isMatch: LineMatch,
  options: SearchOptions,
  result: SearchResult,
): void {
  const text = textAt(root, place, options)
  if (text === undefined) {
    result.unread += 1
    return
  }
  for (const [at, line] of text.split('\n').entries()) {
    if (!isMatch(line)) continue
    if (result.found.length >= most.results) {
      result.more = true
      return
    }
    result.found.push({ path: place.path, line: at + 1, text: line.slice(0, most.lineLength).trimEnd() })
  }
}

/** Undefined: it is not text, too large, or not to be read. */
function textAt(
  root: Root,
  place: RootPlace,
  { maxFileBytes, hardLinks }: SearchOptions,
): string | undefined {
  try {
    const { fd, size } = openFile(root, place, hardLinks)
    try {
      const bytes = size > maxFileBytes ? undefined : readAllSync(fd, maxFileBytes)
      return bytes && decodeText(bytes, place.path)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (error instanceof PathRefused) return undefined
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
function globMatcher(glob: string): (path: string) => boolean {
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
