// The work of the file tools that could hold the event loop: searching, listing, and finding the lines of a patch or the text
// of an edit. It is done in threads with limits of CPU time and memory, in which owners take turns. Small work that
// needs no file is done at once.
import { InvalidInput, type ToolContext } from '../../engine/ports/index.ts'
import { programBeside, WorkPool } from '../../lib/async/work-pool.ts'
import { tryOnLoop } from '../../lib/checks/budget.ts'
import { privateIdentities } from '../../lib/files/private-folders.ts'
import { applyHunks, type Hunk } from './patch.ts'
import { type EditedText, type Replacement, replaceText } from './replace-text.ts'
import type { SearchInput, SearchResult } from './search.ts'

/** `isPrivate`: which folders are not reached, as `privateIdentities` gives them. */
type InFolder = { root: string; ignored: readonly string[]; isPrivate: readonly string[] }

export type FileJob =
  | (InFolder & { kind: 'search'; input: SearchInput; maxFileBytes: number; hardLinks: boolean })
  | (InFolder & { kind: 'list'; path: string; depth: number })
  | { kind: 'hunks'; text: string; hunks: readonly Hunk[]; path: string }
  | ({ kind: 'replace' } & Replacement)

export type FileAnswer =
  | { result: SearchResult }
  | { lines: string[] }
  | { text: string }
  | { edited: EditedText }
  /** In words for the model; nothing was done. */
  | { refused: string }

/** The owner that a job runs for, and the signal that cancels it. */
export type Asker = Pick<ToolContext, 'owner' | 'signal'>

let filePool: WorkPool<FileJob, FileAnswer> | undefined

/** `Answer`: the thread answers each kind of job with its own. */
async function inThread<Answer extends FileAnswer>(job: FileJob, { owner, signal }: Asker): Promise<Answer> {
  filePool ??= new WorkPool<FileJob, FileAnswer>(programBeside(import.meta.url, 'worker'), { heapMiB: 512 })
  const answer = await filePool.run(job, owner, signal)
  signal.throwIfAborted()
  if ('refused' in answer) throw new InvalidInput(answer.refused)
  if ('failed' in answer)
    throw new Error(`Nothing was done: the work on the files ${answer.failed}. Ask for less.`)
  return answer as Answer // as said above
}

type Folder = { root: string; ignored: ReadonlySet<string> }

const inFolder = ({ root, ignored }: Folder): InFolder => ({
  root,
  ignored: [...ignored],
  isPrivate: privateIdentities(),
})

export async function searchFolder(
  folder: Folder & { maxFileBytes: number; hardLinks: boolean },
  input: SearchInput,
  asker: Asker,
): Promise<SearchResult> {
  const { maxFileBytes, hardLinks } = folder
  const job = { kind: 'search', ...inFolder(folder), input, maxFileBytes, hardLinks } as const
  return (await inThread<{ result: SearchResult }>(job, asker)).result
}

/** Lines as a model reads them: at most one more than are shown. */
export async function listFolder(
  folder: Folder,
  path: string,
  depth: number,
  asker: Asker,
): Promise<string[]> {
  const job = { kind: 'list', ...inFolder(folder), path, depth } as const
  return (await inThread<{ lines: string[] }>(job, asker)).lines
}

/** The text of a file after the hunks of a patch. */
export async function patchText(
  text: string,
  hunks: readonly Hunk[],
  path: string,
  asker: Asker,
): Promise<string> {
  const done = tryOnLoop(budget => applyHunks(text, hunks, path, micros => budget.spend(micros)))
  if (done) return done.value
  return (await inThread<{ text: string }>({ kind: 'hunks', text, hunks, path }, asker)).text
}

export async function editText(replacement: Replacement, asker: Asker): Promise<EditedText> {
  const done = tryOnLoop(budget => replaceText(replacement, micros => budget.spend(micros)))
  if (done) return done.value
  return (await inThread<{ edited: EditedText }>({ kind: 'replace', ...replacement }, asker)).edited
}
