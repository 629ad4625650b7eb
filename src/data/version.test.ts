import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ownPackage } from './version.ts'

/** A folder `app` with the package installed, and what npm noted of it. */
function installed(t: TestContext, manifest: object, notes?: string): { home: string; own: string } {
  const home = mkdtempSync(join(tmpdir(), 'turnwire-version-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const own = join(home, 'app/node_modules/turnwire')
  mkdirSync(own, { recursive: true })
  writeFileSync(
    join(own, 'package.json'),
    JSON.stringify({ name: 'turnwire', version: '1.2.3', ...manifest }),
  )
  if (notes !== undefined) writeFileSync(join(home, 'app/node_modules/.package-lock.json'), notes)
  return { home, own }
}

const noted = (resolved: string): string =>
  JSON.stringify({ packages: { 'node_modules/turnwire': { resolved } } })

test('npm takes the folder of a checkout, which is marked as private', t => {
  const { own } = installed(t, { private: true }, noted('file:../turnwire-1.2.3.tgz'))
  assert.equal(ownPackage(own), `file:${own}`)
})

test('npm takes the tarball that the package was installed from, while it is there', t => {
  const { home, own } = installed(t, {}, noted('file:../turnwire-1.2.3.tgz'))
  assert.equal(ownPackage(own), '^1.2.3')
  const tarball = join(home, 'turnwire-1.2.3.tgz')
  writeFileSync(tarball, '')
  assert.equal(ownPackage(own), `file:${tarball}`)
})

test('npm takes the version from the registry where it came from there, or where nothing is noted', t => {
  const address = 'https://registry.example/turnwire/-/turnwire-1.2.3.tgz'
  for (const notes of [noted(address), undefined, '{', '{}'])
    assert.equal(ownPackage(installed(t, {}, notes).own), '^1.2.3')
})
