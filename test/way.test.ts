// How many functions a request enters. It grows with every wrapper, copy and feature in the way of requests that do not use it,
// and no test of behaviour notices. The numbers and their reasons are in bench/way.json.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { changeOfWay, mostChange, recordedWays } from '../bench/way.ts'

const program = fileURLToPath(new URL('../bench/way.ts', import.meta.url))

test('the way of a request is as long as recorded, within a tenth', async () => {
  // In a process of its own: V8 counts all of it.
  const { stdout } = await promisify(execFile)(process.execPath, [program]).catch(failed => failed)
  for (const name of Object.keys(recordedWays()))
    assert.match(stdout, new RegExp(`^${name}: \\d+ entries`, 'm'))
  assert.doesNotMatch(stdout, /Record the new number/, stdout)
})

test('a way that grew or shrank by more than a tenth is reported', () => {
  const recorded = { entries: 1_000, files: 100, why: 'It is a test.' }
  const change = (entries: number, files: number) => changeOfWay('turn', { entries, files }, recorded) ?? ''
  assert.equal(change(1_000, 100), '')
  assert.equal(change(1_000 * mostChange, 100 * mostChange), '')
  assert.match(change(1_101, 100), /grew from 1000 to 1101 entries/)
  assert.match(change(900, 100), /shrank from 1000 to 900 entries/)
  assert.match(change(1_000, 111), /grew from 100 to 111 files/)
  assert.match(changeOfWay('turn', { entries: 1_000, files: 100 }, undefined) ?? '', /not recorded/)
})

test('each recorded number says why it is what it is', () => {
  for (const [name, { entries, files, why }] of Object.entries(recordedWays()))
    assert.ok(entries > 0 && files > 0 && why.length > 40, name)
})
