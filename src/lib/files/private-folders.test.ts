import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isPrivate, keepPrivate, otherPaths, privateFolderAround, privatePaths } from './private-folders.ts'

const skip = existsSync('/proc/self/fd') ? false : 'folders are followed by their descriptors on Linux only'

function folderOf(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'private-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

test('a private folder is known under each name, after it was moved too, until it is given up', {
  skip,
}, t => {
  const base = folderOf(t)
  mkdirSync(join(base, 'a/data/inside'), { recursive: true })
  symlinkSync('a', join(base, 'link'))
  const release = [keepPrivate(join(base, 'link/data')), keepPrivate(join(base, 'a/data'))]
  assert.deepEqual(privatePaths(), [join(base, 'a/data')])
  renameSync(join(base, 'a'), join(base, 'b'))
  assert.deepEqual(privatePaths(), [join(base, 'b/data')])
  assert.equal(isPrivate(statSync(join(base, 'b/data'))), true)
  assert.equal(isPrivate(statSync(join(base, 'b'))), false)
  assert.equal(privateFolderAround(join(base, 'b/data/inside')), join(base, 'b/data'))
  assert.equal(privateFolderAround(join(base, 'b')), undefined)
  release[0]!()
  release[0]!()
  assert.equal(privatePaths().length, 1)
  release[1]!()
  assert.deepEqual(privatePaths(), [])
  assert.equal(isPrivate(statSync(join(base, 'b/data'))), false)
})

test('a bind mount shows the folder at a second place', () => {
  const mounts = [
    { device: '8:1', root: '/', point: '/' },
    { device: '8:2', root: '/', point: '/var' },
    { device: '8:2', root: '/lib', point: '/srv/project/data' },
    { device: '8:2', root: '/other', point: '/srv/other' },
    { device: '8:1', root: '/srv', point: '/mnt' },
  ]
  assert.deepEqual(otherPaths('/var/lib/turnwire', mounts), [
    '/var/lib/turnwire',
    '/srv/project/data/turnwire',
  ])
  assert.deepEqual(otherPaths('/srv/x', mounts), ['/srv/x', '/mnt/x'])
})
