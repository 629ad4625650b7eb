// The package behind `npm create turnwire`: it is packed as it would be published, installed beside turnwire, and run.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { command as initCommand } from '../../src/cli/commands/init.ts'
import { packedCreate } from '../packed.ts'
import { folder, root } from './rig.ts'

type Manifest = { name: string; version: string; engines: object; dependencies: Record<string, string> }

const manifestOf = (path: string): Manifest =>
  JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as Manifest // it is ours

/** As npm unpacks it: a folder node_modules with both packages. */
function installed(t: TestContext): string {
  const cwd = folder(t)
  const own = join(cwd, 'node_modules/create-turnwire')
  mkdirSync(own, { recursive: true })
  const unpacked = spawnSync('tar', ['-xzf', packedCreate(cwd), '-C', own, '--strip-components=1'])
  assert.equal(unpacked.status, 0)
  symlinkSync(root, join(cwd, 'node_modules/turnwire'))
  return cwd
}

const create = (cwd: string, ...args: string[]) =>
  spawnSync(process.execPath, [join(cwd, 'node_modules/create-turnwire/create.mjs'), ...args], {
    cwd,
    encoding: 'utf8',
  })

test('npm create turnwire writes an agent and an application, and passes options on', t => {
  const cwd = installed(t)
  const made = create(cwd)
  assert.equal(made.status, 0, made.stderr)
  assert.match(made.stdout, /cd my-agent && npm start/)
  for (const file of ['turnwire.config.ts', 'src/main.tsx', 'start.mjs', 'package.json'])
    assert.ok(existsSync(join(cwd, 'my-agent', file)), file)
  const other = create(cwd, 'shop', '--vendor', 'openai')
  assert.equal(other.status, 0, other.stderr)
  assert.match(readFileSync(join(cwd, 'shop/turnwire.config.ts'), 'utf8'), /openai\(/)
  const named = create(cwd, '--app=next', '--vendor', 'anthropic', 'desk')
  assert.equal(named.status, 0, named.stderr)
  assert.match(
    readFileSync(join(cwd, 'desk/turnwire.config.ts'), 'utf8'),
    /anthropic\(/,
    'a folder after options',
  )
  assert.ok(existsSync(join(cwd, 'desk/app/page.tsx')) && !existsSync(join(cwd, 'desk/src')))
  const again = create(cwd, 'shop')
  assert.equal(again.status, 2, 'nothing is written over')
  assert.match(again.stderr, /exists and is left as it is/)
})

test('it knows which options of init have a value, so that it finds the folder among them', () => {
  const valued = Object.entries(initCommand.options ?? {}).flatMap(([name, { type }]) =>
    type === 'string' ? [name] : [],
  )
  const source = readFileSync(join(root, 'create-turnwire/create.mjs'), 'utf8')
  const [, list = ''] = /^const valued = \[(.*)\]$/m.exec(source) ?? []
  assert.deepEqual(list.match(/\w+/g), valued)
})

test('it is published from the repository that packs it, with provenance, and without scripts', t => {
  const own = join(installed(t), 'node_modules/create-turnwire')
  const manifest = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'))
  assert.deepEqual(manifest.repository, {
    type: 'git',
    url: 'git+https://github.com/example/turnwire.git',
    directory: 'create-turnwire',
  })
  assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true })
  assert.equal(manifest.scripts, undefined)
  assert.ok(existsSync(join(own, manifest.bin['create-turnwire'])))
})

test('the package has the version of turnwire, asks for it, and needs the same Node', () => {
  const [own, turnwire] = [manifestOf('create-turnwire'), manifestOf('.')]
  assert.equal(own.version, turnwire.version)
  assert.equal(own.dependencies['turnwire'], `^${turnwire.version}`)
  assert.deepEqual(own.engines, turnwire.engines)
})
