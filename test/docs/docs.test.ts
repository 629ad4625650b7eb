// The docs say what is true: every error code is documented with its status, links lead somewhere, the README's tree
// is the tree, and nothing speaks of the machines it was written on.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { errorCodes } from '../../src/language/errors.ts'

const pages = globSync(['*.md', 'docs/**/*.md'])

test('every error code is documented with its status, and no other', () => {
  const text = readFileSync('docs/operations/errors.md', 'utf8')
  const rows = new Map(
    [...text.matchAll(/^\| `(\w+)` \| (\d+) \| (yes|no) \|/gm)].map(row => [row[1], `${row[2]} ${row[3]}`]),
  )
  const wanted = new Map(
    Object.entries(errorCodes).map(([code, { status, retry }]) => [
      code,
      `${status} ${retry ? 'yes' : 'no'}`,
    ]),
  )
  assert.deepEqual(Object.fromEntries([...rows].sort()), Object.fromEntries([...wanted].sort()))
})

test('every relative link leads to a file', () => {
  const dead: string[] = []
  for (const page of pages) {
    for (const [, target] of readFileSync(page, 'utf8').matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)) {
      if (target !== undefined && !existsSync(join(dirname(page), target))) dead.push(`${page} -> ${target}`)
    }
  }
  assert.deepEqual(dead, [])
})

test('the tree that the README shows is there', () => {
  const shown = [...readFileSync('README.md', 'utf8').matchAll(/^((?:src\/)?\w+) {2,}\S/gm)].map(
    row => row[1] ?? '',
  )
  assert.ok(shown.length >= 15)
  assert.deepEqual(
    shown.filter(folder => !existsSync(folder)),
    [],
  )
})

test('the product speaks of itself alone', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
    .trim()
    .split('\n')
  const here = new RegExp(`(?<![\\w.])/(${['wo' + 'rk', 'fa' + 'rm'].join('|')})/|\\.\\./${'sha' + 'red'}/`)
  const found = files.filter(
    file => existsSync(file) && !file.endsWith('package-lock.json') && here.test(readFileSync(file, 'utf8')),
  )
  assert.deepEqual(found, [])
})
