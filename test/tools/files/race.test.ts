// Names are exchanged for links that lead out of the workspace, by another process and without pause, while files are read
// (100,000 tries), written, listed, removed and moved (some thousands). None may reach the outside (T-27).
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Disk } from '../../../src/tools/files/disk.ts'
import { listLines } from '../../../src/tools/files/list-lines.ts'
import { openFile, PathRefused } from '../../../src/tools/files/root.ts'

const tries = 100_000
const skip = existsSync('/proc/self/fd') ? false : 'files are confined on Linux only'

test(`symlink races: ${tries} tries, no way out`, { skip }, async t => {
  const base = mkdtempSync(join(tmpdir(), 'turnwire-race-'))
  t.after(() => rmSync(base, { recursive: true, force: true }))
  const [root, outside] = [join(base, 'root'), join(base, 'outside')]
  for (const folder of ['folder', 'wanderer']) mkdirSync(join(root, folder), { recursive: true })
  mkdirSync(outside)
  writeFileSync(join(root, 'folder/x'), 'inside')
  writeFileSync(join(root, 'wanderer/x'), 'inside')
  writeFileSync(join(root, 'file'), 'inside')
  for (const name of ['x', 'victim']) writeFileSync(join(outside, name), 'SECRET')
  symlinkSync(outside, join(root, 'folder.link'))
  symlinkSync('../outside/x', join(root, 'file.link'))
  const disk = new Disk(root, { maxFileBytes: 1000, hardLinks: false })
  const swapper = spawn(process.execPath, [join(import.meta.dirname, 'swap-links.ts'), root, outside], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => swapper.kill('SIGKILL'))
  const ended = once(swapper, 'exit')
  await once(swapper.stdout, 'data')

  const buffer = Buffer.alloc(64)
  const seen = { inside: 0, refused: 0 }
  const read = (path: string): void => {
    try {
      const text = disk.root.at(path, 'follow', place => {
        const { fd } = openFile(disk.root, place, false)
        try {
          return buffer.toString('latin1', 0, readSync(fd, buffer))
        } finally {
          closeSync(fd)
        }
      })
      assert.equal(text, 'inside')
      seen.inside += 1
    } catch (error) {
      if (!(error instanceof PathRefused)) throw error
      seen.refused += 1
    }
  }
  const paths = ['folder/x', 'file', 'wanderer/x', 'folder/../folder/x']
  for (let count = 0; count < tries; count++) read(paths[count % paths.length]!)
  // Both happened, so the names were exchanged while we looked.
  assert.ok(seen.inside > 100 && seen.refused > 100, JSON.stringify(seen))

  for (let count = 0; count < 50; count++)
    for (const path of ['folder/new', 'wanderer/new'])
      await disk
        .write(path, 'mine', 'replace')
        .catch(error => assert.ok(error instanceof PathRefused, String(error)))
  // Only the outside has a victim: it is neither listed, nor removed, nor moved in.
  const look = (act: () => unknown): void => {
    try {
      assert.ok(!JSON.stringify(act()).includes('victim'))
    } catch (error) {
      if (!(error instanceof PathRefused)) throw error
    }
  }
  for (let count = 0; count < 2_000; count++) {
    look(() => listLines(disk.root, 'folder', 1, new Set()))
    if (count % 4 === 0) look(() => listLines(disk.root, '.', 3, new Set()))
  }
  for (let count = 0; count < 1_000; count++) {
    look(() => disk.remove('folder/victim'))
    look(() => disk.move('folder/victim', 'taken'))
  }
  swapper.stdin.end()
  assert.deepEqual(await ended, [0, null])
  assert.equal(readFileSync(join(outside, 'x'), 'utf8'), 'SECRET')
  assert.equal(readFileSync(join(outside, 'victim'), 'utf8'), 'SECRET')
  const strays = readdirSync(outside).filter(name => !['x', 'victim', 'wanderer'].includes(name))
  assert.deepEqual(strays, [], 'nothing was written outside')
})
