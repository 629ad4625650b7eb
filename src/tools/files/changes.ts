// Changes of files as data. First the new text of each file is planned from its current text; then the plan is carried
// out. A preview and a run share the first half, so that the run does exactly what the preview showed.
import { InvalidInput, type ToolContext } from '../../engine/ports/index.ts'
import type { FileDiff, Report } from '../../language/report.ts'
import { quote } from '../../lib/text/index.ts'
import type { Disk } from './disk.ts'
import { type Asker, editText, patchText } from './jobs.ts'
import { type FileChange, parsePatch } from './patch.ts'
import { fileError, outside } from './root.ts'
import type { Versions } from './versions.ts'

/** One file before and after; null: there is none. `path` is relative to the root. `overwrites`: the old text is not used. */
export type PlannedChange = {
  path: string
  before: string | null
  after: string | null
  mode?: number
  overwrites?: true
}

export type Workspace = { disk: Disk; versions: Versions }
type Caller = Pick<ToolContext, 'session' | 'callId'>

// ---- what would become of the files --------------------------------------------------------------------------

export async function planWrite({ disk }: Workspace, path: string, text: string): Promise<PlannedChange[]> {
  const found = await disk.find(path)
  if (!found) return [{ path: relative(disk, path), before: null, after: text }]
  return [{ path: found.path, before: found.text, after: text, mode: found.mode, overwrites: true }]
}

export type Edit = { path: string; old: string; fresh: string; all: boolean }

export async function planEdit(
  { disk }: Workspace,
  { path, old, fresh, all }: Edit,
  asker: Asker,
): Promise<PlannedChange[]> {
  const { path: found, text, mode } = await disk.read(path)
  if (old === '') throw new InvalidInput('The text to replace is empty. Say which text is meant.')
  const most = disk.options.maxFileBytes
  const { count, text: after, length } = await editText({ text, old, fresh, all, most }, asker)
  if (count === 0)
    throw fileError(
      found,
      'does not hold the text to replace. It must match exactly, spaces included. Read the file.',
    )
  if (length !== undefined)
    throw fileError(found, `would have ${length} characters; files have up to ${most} bytes.`)
  if (after === undefined)
    throw fileError(
      found,
      `holds the text to replace ${count} times. Give more of its surroundings, or replace all.`,
    )
  return [{ path: found, before: text, after, mode }]
}

/** Plans every file of the patch, or throws: a patch with a fault is not applied in part. */
export async function planPatch({ disk }: Workspace, patch: string, asker: Asker): Promise<PlannedChange[]> {
  const changes = new Map<string, PlannedChange>()
  const current = async (path: string): Promise<PlannedChange | undefined> => {
    // A file that occurs often is read once.
    const named = changes.get(relative(disk, path))
    if (named) return named
    const found = await disk.find(path)
    const known = found && changes.get(found.path)
    if (known) return known
    return found && { path: found.path, before: found.text, after: found.text, mode: found.mode }
  }
  for (const change of parsePatch(patch))
    for (const made of await planFile(change, current, path => relative(disk, path), asker)) {
      const before = changes.get(made.path)
      changes.set(made.path, before ? { ...made, before: before.before } : made)
    }
  return [...changes.values()]
}

async function planFile(
  change: FileChange,
  current: (path: string) => Promise<PlannedChange | undefined>,
  plain: (path: string) => string,
  asker: Asker,
): Promise<PlannedChange[]> {
  const found = await current(change.path)
  const isThere = found !== undefined && found.after !== null
  if (change.type === 'add') {
    if (isThere) throw fileError(change.path, 'exists already: use "*** Update File".')
    return [{ path: plain(change.path), before: null, after: change.text }]
  }
  if (!isThere) throw fileError(change.path, 'does not exist.')
  if (change.type === 'delete') return [{ ...found, after: null }]
  const after = await patchText(found.after ?? '', change.hunks, change.path, asker)
  if (change.moveTo === undefined) return [{ ...found, after }]
  const target = await current(change.moveTo)
  if (target !== undefined && target.after !== null) throw fileError(change.moveTo, 'exists already.')
  const moved: PlannedChange = { path: plain(change.moveTo), before: null, after }
  if (found.mode !== undefined) moved.mode = found.mode
  return [{ ...found, after: null }, moved]
}

/** A path of a file that does not exist yet, as it will be found. */
function relative(disk: Disk, path: string): string {
  const names: string[] = []
  for (const name of disk.root.splitPath(path)) {
    if (name === '..') {
      if (names.pop() === undefined) throw outside(path)
    } else if (name !== '' && name !== '.') names.push(name)
  }
  return names.join('/')
}

// ---- shown and done ------------------------------------------------------------------------------------------

export function reportChanges({ disk }: Workspace, changes: readonly PlannedChange[]): Report {
  const diffs = changes.map(
    ({ path, before, after }): FileDiff => ({
      path: disk.root.absolute(path),
      oldText: before,
      newText: after,
    }),
  )
  const locations = changes.map(({ path, before, after }) => ({
    path: disk.root.absolute(path),
    line: firstDifference(before ?? '', after ?? ''),
  }))
  return { diffs, locations }
}

function firstDifference(before: string, after: string): number {
  const [old, fresh] = [before.split('\n'), after.split('\n')]
  const at = fresh.findIndex((line, index) => line !== old[index])
  return at < 0 ? 1 : at + 1
}

/** Remembers the versions that a person is shown. The run is refused if a file has changed since. */
export function preview(space: Workspace, { callId }: Caller, changes: readonly PlannedChange[]): Report {
  for (const { path, before } of changes) space.versions.shown(callId, path, before)
  return reportChanges(space, changes)
}

export async function carryOut(
  space: Workspace,
  context: Pick<ToolContext, 'session' | 'callId' | 'report'>,
  changes: readonly PlannedChange[],
): Promise<Report> {
  const { disk, versions } = space
  const { session, callId } = context
  for (const { path, before, overwrites } of changes) {
    versions.check(session, callId, path, before)
    if (overwrites && !versions.hasRead(session, path))
      throw fileError(path, 'exists already, and you have not read it. Read it first, then write it.')
  }
  const report = reportChanges(space, changes)
  context.report({ locations: report.locations ?? [] })
  const done: PlannedChange[] = []
  for (const change of changes) {
    try {
      await apply(disk, change)
    } catch (error) {
      if (done.length === 0) throw error
      const names = done.map(({ path }) => quote(path, 200)).join(', ')
      throw new Error(`Only a part was done: ${names} changed, ${quote(change.path, 200)} did not.`, {
        cause: error,
      })
    }
    versions.seen(session, change.path, change.after)
    done.push(change)
  }
  return report
}

async function apply(disk: Disk, { path, before, after, mode }: PlannedChange): Promise<void> {
  // Someone may have written while the plan was made.
  const now = await disk.find(path)
  if ((now?.text ?? null) !== before)
    throw fileError(path, 'was changed by someone else just now. Read it again.')
  if (after === null) disk.remove(path)
  else await disk.write(path, after, before === null ? 'make' : 'replace', mode)
}
