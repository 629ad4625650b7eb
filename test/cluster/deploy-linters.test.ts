// The files in deploy/ pass linters of others: the validator of Dockerfiles that editors use, the linter of compose files with the
// schema of Compose, and the schemas of the Kubernetes API. They are installed by `npm run lint:deploy`, and by nothing else.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parseAllDocuments } from 'yaml'

const deploy = join(import.meta.dirname, '../../deploy')
const modules = join(import.meta.dirname, 'linters/node_modules')

const skip = existsSync(modules) ? false : 'the linters are not installed: npm run lint:deploy'

/** `Module`: what a file of a linter exports. */
function load<Module>(file: string): Promise<Module> {
  return import(join(modules, file)) as Promise<Module>
}

type Model = new (given: object) => { validate(): void }
type Manifest = { apiVersion: string; kind: string; spec: object }

describe('linters of deploy/', { skip }, () => {
  test('the Dockerfile', async () => {
    const { validate } = await load<{ validate: (text: string) => { message: string }[] }>(
      'dockerfile-utils/lib/main.js',
    )
    assert.deepEqual(validate(readFileSync(join(deploy, 'Dockerfile'), 'utf8')), [])
    assert.ok(validate('FROM node\nRUNN x\n').length > 0)
  })

  test('the compose file', () => {
    const dclint = join(modules, 'dclint/bin/dclint.cjs')
    // The key << of a merge has no place in its order.
    const flags = ['--disable-rule', 'service-keys-order', '--max-warnings', '0']
    const { status, stdout } = spawnSync(process.execPath, [dclint, ...flags, join(deploy, 'compose.yaml')], {
      encoding: 'utf8',
    })
    assert.equal(status, 0, stdout)
  })

  test('the Kubernetes manifest', async () => {
    const documents = parseAllDocuments(readFileSync(join(deploy, 'kubernetes.yaml'), 'utf8'))
    for (const document of documents) {
      const given = document.toJS() as Manifest // its own shape
      const file = `kubernetes-models/${given.apiVersion}/${given.kind}.js`
      const { [given.kind]: Kind } = await load<Record<string, Model>>(file)
      assert.ok(Kind, file)
      new Kind(given).validate()
      assert.throws(() => new Kind({ ...given, spec: { ...given.spec, selector: 7 } }).validate())
    }
    assert.equal(documents.length, 3)
  })
})
