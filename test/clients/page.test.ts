// docs/guide/connect.md: every block of it is run, here or by `npm run test:clients`, and the light programs are played here.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/load-config.ts'
import { bash, type Client, clients } from './clients.ts'
import { sectionsOf } from './page.ts'
import { answer, serveClients } from './server.ts'

const page = readFileSync('docs/guide/connect.md', 'utf8')
const { devDependencies, dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
  string,
  Record<string, string>
>
const { packages: locked } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, { version: string }>
}
/** Of the package itself the dependencies are ranges, so the lock says which version is installed. */
const installed = Object.fromEntries(
  Object.keys({ ...devDependencies, ...dependencies }).map(name => [
    name,
    locked[`node_modules/${name}`]?.version,
  ]),
)

test('every section with commands or files belongs to a client', () => {
  const used = new Set(clients.flatMap(({ section }) => section ?? []))
  for (const [name, { files, commands }] of sectionsOf())
    assert.equal(used.has(name), files.length + commands.length > 0, name)
  for (const [, { files }] of sectionsOf())
    for (const { path, text } of files) if (path.endsWith('.json')) JSON.parse(text)
})

test('the configuration of the page loads', async t => {
  const [, text] = /^```ts turnwire\.config\.ts\n([\s\S]*?)^```$/m.exec(page) ?? []
  assert.ok(text)
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-page-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const entry = resolve('src/index.ts')
  const file = join(folder, 'turnwire.config.ts')
  writeFileSync(file, text.replace("'turnwire'", JSON.stringify(entry)))
  const { models = {}, agents } = await loadConfig(file)
  assert.deepEqual([Object.keys(models), agents.map(({ name }) => name)], [['*'], ['helper']])
})

test('the versions that the page names are those that are installed', () => {
  const rows = [...page.matchAll(/^\| `([^`]+)` \| (\d\S*) \|$/gm)].map(([, name = '', version]) => [
    name,
    version,
  ])
  const versions = rows.map(([name = '']) => {
    const about = readFileSync(join('node_modules', name, 'package.json'), 'utf8')
    return [name, (JSON.parse(about) as { version: string }).version]
  })
  assert.deepEqual(rows, versions)
  const vendors = ['openai', '@anthropic-ai/sdk', '@google/genai', 'ai']
  const named = new Set(rows.map(([name]) => name))
  assert.deepEqual(
    vendors.filter(name => !named.has(name)),
    [],
  )
})

/** Whether the packages of a program are dependencies of this repository, in the same version. */
function isLight({ packages, program }: Client): boolean {
  return (
    program !== undefined &&
    packages.every(each => {
      const at = each.lastIndexOf('@')
      return installed[each.slice(0, at)] === each.slice(at + 1)
    })
  )
}

for (const client of clients.filter(isLight))
  test(`${client.name}: its lines play a whole loop`, async t => {
    const server = await serveClients('openai-responses')
    t.after(() => server.stop())
    const folder = mkdtempSync(join(tmpdir(), 'turnwire-light-'))
    t.after(() => rmSync(folder, { recursive: true }))
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'program.mjs'), client.program!(server.url))
    const { output } = await bash('node program.mjs', folder, folder, resolve('node_modules/.bin'))
    assert.ok(output.includes(answer), output)
  })

test('the light programs are those of the vendors’ SDKs', () => {
  assert.deepEqual(
    clients.filter(isLight).map(({ name }) => name),
    ['AI SDK openai()', '@openai/agents', '@anthropic-ai/sdk', '@google/genai'],
  )
})
