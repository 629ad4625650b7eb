// ARCHITECTURE.md names every room of src, every folder beside it and every file of the engine, and none that is not there.
import assert from 'node:assert/strict'
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'

const page = readFileSync('ARCHITECTURE.md', 'utf8')

/** The text between a heading and the next one. */
function section(heading: string): string {
  const [, text = ''] = page.split(`## ${heading}\n`)
  return text.split('\n## ')[0] ?? ''
}

test('the tree has every room of src and every folder beside it', () => {
  const tree = section('The tree')
  const opening = [...tree.matchAll(/^([a-z][\w./-]*)/gm)].map(([, name = '']) => name)
  assert.ok(opening.length > 30)
  assert.deepEqual(
    opening.filter(name => !existsSync(name)),
    [],
  )
  const named = [...opening, ...[...tree.matchAll(/[;,] ([a-z][\w./-]*)/g)].map(([, name = '']) => name)]
  const ignored = readFileSync('.gitignore', 'utf8').split('\n')
  const folders = readdirSync('.', { withFileTypes: true })
    .filter(entry => entry.isDirectory() && !/^(?:\.|src$)/.test(entry.name))
    .map(({ name }) => name)
    .filter(name => !ignored.some(line => line.replaceAll('/', '') === name))
  const rooms = readdirSync('src').map(name => `src/${name}`)
  assert.deepEqual(
    [...rooms, ...folders].filter(name => !named.includes(name)),
    [],
  )
})

test('the table of layers has every file of the engine', () => {
  const table = section('The engine, layer by layer')
  const named = new Set([...table.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name))
  const files = globSync('src/engine/*/*.ts', { exclude: ['**/*.test.ts'] }).map(file =>
    basename(file, '.ts'),
  )
  assert.ok(files.length > 80)
  assert.deepEqual(
    files.filter(name => !named.has(name)),
    [],
  )
})
