// Puts test files together that can share a process: most files take less time than a process takes to start and to load what
// they import. A file shares only if it is of a folder whose tests stay within their process, and if it touches nothing
// that all of the process share. In a narrowed run, and when it is run again, each file has a process of its own.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const folders = [
  'src/',
  'test/client/',
  'test/engine/',
  'test/field-bugs/',
  'test/lib/',
  'test/library/',
  'test/models/',
  'test/properties/',
  'test/requirements/',
  'test/server/',
  'test/threats/',
  'test/tools/',
  'test/transcripts/',
  'test/wires/',
]

/** Long ones would make a process that runs alone at the end. */
const long = /any-wire|nested|mcp\/contract|conformance|\/browser\/|\/race\.|\/work-pool\./

/** The process itself, its clock, its memory, programs and threads that it starts. */
const touches =
  /\bprocess\.|globalThis|\bmock\b|child_process|worker_threads|diagnostics_channel|performance\.|garbage|\bgc\b|\/rig\/|cli\/rig|killed|chain\.ts/
/** A hook outside a suite would hold for the tests of all files. */
const hooks = /^(?:before|after|beforeEach|afterEach)\(/m

const most = 12

function canShare(file, text) {
  return (
    folders.some(folder => file.startsWith(folder)) &&
    !long.test(file) &&
    !touches.test(text) &&
    !hooks.test(text)
  )
}

/**
 * The files to run in place of these, in the same order, and by the path of each group what it holds. `remove` deletes the
 * groups.
 */
export function groupFiles(files) {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-tests-'))
  const groups = new Map()
  const chosen = []
  let open = []
  const close = () => {
    if (open.length === 0) return
    const path = join(folder, `group-${groups.size + 1}.mjs`)
    // One after the other: a test says by its order in the report which file it is from.
    const lines = open.map(file => `await import(${JSON.stringify(pathToFileURL(resolve(file)).href)})\n`)
    writeFileSync(path, lines.join(''))
    groups.set(path, open)
    chosen.push(path)
    open = []
  }
  for (const file of files) {
    if (!canShare(file, readFileSync(file, 'utf8'))) chosen.push(file)
    else if (open.push(file) === most) close()
  }
  close()
  return { chosen, groups, remove: () => rmSync(folder, { recursive: true, force: true }) }
}
