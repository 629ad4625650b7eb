// The package as it is published: it builds, the command runs without TypeScript, the library holds a session, and every
// door of package.json leads to a built file with types.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'

describe('the published package', () => {
  before(() => void execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'pipe' }))

  test('has only what it needs to run, and every export is there', () => {
    const made = JSON.parse(readFileSync('dist/package.json', 'utf8'))
    for (const door of Object.values<string | { types: string; default: string }>(made.exports)) {
      for (const file of typeof door === 'string' ? [door] : Object.values(door))
        assert.ok(existsSync(`dist/${file}`), `${file} is missing`)
    }
    assert.deepEqual(
      [made.private, made.devDependencies, made.optionalDependencies, made.scripts],
      [undefined, undefined, undefined, undefined],
    )
    assert.ok(!existsSync('dist/engine/engine.test.js'))
  })

  test('the command answers', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.match(
      execFileSync(process.execPath, ['dist/bin/turnwire.mjs', '--version'], { encoding: 'utf8' }),
      new RegExp(version),
    )
  })

  test('the library holds a session', async () => {
    const library: typeof import('../src/index.ts') = await import(pathToFileURL('dist/index.js').href)
    const turnwire = await library.Turnwire.open({
      agents: [{ name: 'a', model: library.rehearsal() }],
      data: 'memory',
    })
    const reply = await (await turnwire.session('a')).send('Hello')
    assert.equal(reply.status, 'done')
    assert.notEqual(reply.text, '')
    await turnwire.close()
  })
})
