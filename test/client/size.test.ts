// What the client SDK adds to a page, minified and compressed as servers send it.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'

const kB = 1000

test('the client SDK is at most 15.5 kB in a page, and needs nothing of Node or of the server', async t => {
  const root = mkdtempSync(join(tmpdir(), 'turnwire-size-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const built = await build({
    root,
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: true,
      lib: {
        entry: fileURLToPath(new URL('../../src/client/index.ts', import.meta.url)),
        formats: ['es'],
        fileName: 'client',
      },
    },
  })
  // One entry in one format gives one output.
  const outputs = [built].flat().flatMap(each => ('output' in each ? each.output : []))
  const code = outputs.map(each => ('code' in each ? each.code : '')).join('')
  assert.ok(code.length > 10 * kB, 'the client was not bundled')
  assert.doesNotMatch(code, /from\s*["']node:/)
  const modules = outputs.flatMap(each => ('modules' in each ? Object.keys(each.modules) : []))
  assert.ok(modules.some(file => file.includes('/src/client/')))
  assert.deepEqual(
    modules.filter(file => /\/src\/(?!client|language|lib)/.test(file)),
    [],
  )
  const size = gzipSync(code, { level: 9 }).length
  t.diagnostic(`${(size / kB).toFixed(1)} kB`)
  assert.ok(size <= 15.5 * kB, `${size} bytes`)
})
