// The program of the threads for files.
import { InvalidInput } from '../../engine/ports/index.ts'
import { serveJobs } from '../../lib/async/work-pool.ts'
import { adoptPrivate } from '../../lib/files/private-folders.ts'
import type { FileAnswer, FileJob } from './jobs.ts'
import { listLines } from './list-lines.ts'
import { applyHunks } from './patch.ts'
import { replaceText } from './replace-text.ts'
import { Root } from './root.ts'
import { search } from './search.ts'

serveJobs((job: FileJob): FileAnswer => {
  try {
    return answer(job)
  } catch (error) {
    if (error instanceof InvalidInput) return { refused: error.message }
    throw error
  }
})

function answer(job: FileJob): FileAnswer {
  if (job.kind === 'hunks') return { text: applyHunks(job.text, job.hunks, job.path) }
  if (job.kind === 'replace') return { edited: replaceText(job) }
  // A thread knows of no folders by itself.
  adoptPrivate(job.isPrivate)
  const root = new Root(job.root)
  const ignored = new Set(job.ignored)
  if (job.kind === 'list') return { lines: listLines(root, job.path, job.depth, ignored) }
  const { maxFileBytes, hardLinks, input } = job
  return { result: search(root, input, { maxFileBytes, hardLinks, ignored }) }
}
