// A secret in a call's arguments is nowhere on disk in the clear, and the tool still gets it when the process that heard
// it is gone: killed after the approval, or after the tool ran and before that was recorded.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const secret = 'sk-abcdefghij0123456789'
const hidden = '[redacted: api-keys]'
const script = fileURLToPath(new URL('./hidden-arguments.ts', import.meta.url))

function run(folder: string, what: string, crashAt?: string) {
  const { TURNWIRE_CRASH_AT: _, ...rest } = process.env
  const env = crashAt === undefined ? rest : { ...rest, TURNWIRE_CRASH_AT: crashAt }
  return spawnSync(process.execPath, [script, folder, what], { env, encoding: 'utf8' })
}

/** The database as it lies on disk, with what was not folded into it yet. */
function onDisk(folder: string): string {
  const files = readdirSync(folder).filter(name => name.startsWith('sessions.db'))
  assert.ok(files.length > 0)
  return files.map(name => readFileSync(join(folder, name), 'latin1')).join('\n')
}

for (const [point, times] of [
  ['decision-recorded', 1],
  ['intent-recorded', 1],
  ['call-ran', 2],
] as const)
  test(`killed at ${point}, the call runs with the exact arguments`, t => {
    const folder = mkdtempSync(join(tmpdir(), 'turnwire-hidden-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const first = run(folder, 'ask', point)
    assert.equal(first.signal, 'SIGKILL', first.stderr)
    const { id, pending } = JSON.parse(first.stdout) as { id: string; pending: { input: unknown }[] }
    assert.deepEqual(pending[0]?.input, { key: hidden })
    assert.ok(onDisk(folder).includes(hidden))
    assert.ok(!onDisk(folder).includes(secret))

    const second = run(folder, id)
    assert.equal(second.status, 0, second.stderr)
    const { text, requests } = JSON.parse(second.stdout) as { text: string; requests: string[] }
    assert.equal(text, 'In.')
    assert.ok(requests[0]?.includes(hidden))
    assert.ok(!requests[0]?.includes(secret))
    const effects = readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n')
    assert.deepEqual(effects, Array(times).fill(JSON.stringify({ key: secret })))
    assert.ok(!onDisk(folder).includes(secret))
  })
