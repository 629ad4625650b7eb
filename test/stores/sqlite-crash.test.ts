// A writer that is killed, or whose disk fails: every acknowledged event is in the file, in order, and no refused one is.
// Each kill is a SIGKILL of a real process, which writes to the file that the one before left.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { makeFolder } from './folder.ts'

const WRITER = fileURLToPath(new URL('writer.ts', import.meta.url))
const KILLS = 20
const SESSIONS = 8
/** Where the writer commits: chosen for each commit, or always in the same place. */
const places = ['adaptive', 'main', 'thread'] as const

type Line = { word: string; session: string; seq: number; code?: string | undefined }

function parse(output: string): Line[] {
  // The last line may be incomplete.
  return output
    .slice(0, output.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [word = '', session = '', seq = '', code] = line.split(' ')
      return { word, session, seq: Number(seq), code }
    })
}

function runUntilKilled(file: string, place: string, linesBeforeKill: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [WRITER, file, place, String(SESSIONS)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.split('\n').length > linesBeforeKill) child.kill('SIGKILL')
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    child.on('close', (status, signal) => {
      if (signal === 'SIGKILL') resolve(output)
      else reject(new Error(`the writer ended by itself with ${status}: ${errors}`))
    })
  })
}

function heads(lines: Line[]): Map<string, number> {
  const last = new Map<string, number>()
  for (const { word, session, seq } of lines) if (word === 'acked') last.set(session, seq)
  return last
}

async function checkFile(file: string, acked: Map<string, number>): Promise<void> {
  const store = sqliteStore({ file })
  for (const [session, last] of acked) {
    const row = await store.row(session)
    const recorded = await store.read(session)
    assert.ok(row !== undefined && row.head >= last, `${session}: ${last} was acked, ${row?.head} is there`)
    assert.equal(recorded.length, row.head)
    for (const [index, { seq, event }] of recorded.entries()) {
      assert.equal(seq, index + 1)
      const text = event.type === 'turn.started' && event.parts[0]?.type === 'text' ? event.parts[0].text : ''
      assert.ok(
        text.startsWith(`${session} ${seq} x`) && text.endsWith('x'),
        `${session} ${seq} is another event`,
      )
    }
  }
  await store.close()
  const db = new DatabaseSync(file)
  assert.deepEqual({ ...db.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  assert.equal(db.prepare('PRAGMA foreign_key_check').all().length, 0)
  db.close()
}

test(`after each of ${KILLS} kills by SIGKILL, every acknowledged event is there`, async () => {
  const folder = makeFolder()
  const file = folder.path('sessions.db')
  const acked = new Map<string, number>()
  for (let kill = 0; kill < KILLS; kill++) {
    const lines = parse(await runUntilKilled(file, places[kill % places.length]!, 1 + ((kill * 37) % 150)))
    for (const [session, seq] of heads(lines)) acked.set(session, seq)
    await checkFile(file, acked)
  }
  assert.equal(acked.size, SESSIONS)
  folder.remove()
})

const strace = spawnSync('strace', ['-V']).status === 0
const needsStrace = strace ? false : 'failing syncs are made with strace, which is not installed'

/** Runs a writer of one session whose syncs fail. `when` is strace's expression for which of them do. */
function runWithFailingSync(
  file: string,
  place: string,
  when: string,
  failures: number,
  acks: number,
): Line[] {
  const inject = `inject=fdatasync,fsync:error=EIO:when=${when}`
  const trace = ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync,fsync', '-e', inject]
  const writer = [process.execPath, WRITER, file, place, '1', String(failures), String(acks)]
  return parse(spawnSync('strace', [...trace, ...writer], { encoding: 'utf8', timeout: 600_000 }).stdout)
}

/** After a writer that was not killed: the file has exactly what was acknowledged. */
async function checkExact(file: string, lines: Line[]): Promise<void> {
  await checkFile(file, heads(lines))
  const store = sqliteStore({ file })
  assert.equal((await store.row('s0'))?.head, heads(lines).get('s0'))
  await store.close()
}

for (const [when, place] of ['10', '11', '10..11', '10..12', '10..14', '10+4'].flatMap(each =>
  places.map(place => [each, place] as const),
))
  test(`syncs fail (${when}, ${place}): their events are refused and not in the file, and later writes succeed`, {
    skip: needsStrace,
  }, async () => {
    const folder = makeFolder()
    const file = folder.path('sessions.db')
    await sqliteStore({ file }).close()
    const lines = runWithFailingSync(file, place, when, 400, 40)
    const failed = lines.filter(({ word }) => word === 'failed')
    assert.ok(failed.length > 0, 'no write met the failing sync')
    for (const { code } of failed) assert.equal(code, 'store_failed')
    assert.equal(lines.at(-1)?.word, 'acked')
    await checkExact(file, lines)
    folder.remove()
  })

for (const place of places)
  test(`syncs fail for good (${place}): nothing more is acknowledged, and no refused event is in the file`, {
    skip: needsStrace,
  }, async () => {
    const folder = makeFolder()
    const file = folder.path('sessions.db')
    await sqliteStore({ file }).close()
    const lines = runWithFailingSync(file, place, '12+', 5, 40)
    const firstFailure = lines.findIndex(({ word }) => word === 'failed')
    assert.ok(firstFailure > 0, 'nothing was written before the disk failed')
    for (const { word, code } of lines.slice(firstFailure))
      assert.deepEqual([word, code], ['failed', 'store_failed'])
    assert.equal(lines.length - firstFailure, 6)
    await checkExact(file, lines)
    folder.remove()
  })
