// The configuration that `init` writes: it loads, it serves, and it is never written over.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { initVendors } from '../../src/cli/init-template.ts'
import { AapClient } from '../../src/client/index.ts'
import { defaultModels } from '../../src/server/prepare.ts'
import { folder, root, serve, turnwire } from './rig.ts'

test('the written configuration can be served unchanged, in a folder where nothing is installed', async t => {
  const cwd = folder(t)
  const made = turnwire(['init', 'shop'], { cwd })
  assert.equal(made.code, 0)
  assert.match(made.stdout, /^Wrote shop\/turnwire\.config\.ts and shop\/\.gitignore\.$/m)
  assert.match(readFileSync(join(cwd, 'shop/.gitignore'), 'utf8'), /^\.env$/m, 'keys are read from it')
  assert.match(made.stdout, /cd shop && turnwire serve/)
  const { url, stdout, stderr } = await serve(t, { cwd: join(cwd, 'shop') })
  assert.match(stdout(), /agents {4}clerk \(turnwire\.config\.ts\)/)
  assert.doesNotMatch(stderr(), /Warning/)
  const client = new AapClient({ baseUrl: url })
  const [agent] = (await client.getMeta()).agents
  assert.equal(agent?.name, 'clerk')
  const tools = [
    { name: 'look_up_order', trust: true },
    { name: 'cancel_order', trust: true },
  ]
  const sessionId = await client.createSession({ agent: { name: 'clerk', tools } })
  const found = await client.runTurn({ sessionId, text: 'Where is order 4711?' })
  assert.equal(found.stopReason, 'end_turn')
  assert.match(JSON.stringify(found.messages), /Order 4711 was packed this morning/)
  // The policy asks about it even though the client trusts it.
  const asked = await client.runTurn({ sessionId, text: 'Cancel order 12' })
  assert.deepEqual([asked.stopReason, asked.pending.map(call => call.name)], ['tool_use', ['cancel_order']])
})

test('existing files are not changed', t => {
  const cwd = folder(t)
  const file = join(cwd, 'turnwire.config.ts')
  writeFileSync(file, '// mine')
  const { code, stderr } = turnwire(['init'], { cwd })
  assert.equal(code, 2)
  assert.match(
    stderr,
    /turnwire\.config\.ts exists and is left as it is\. Choose another folder: turnwire init <folder>/,
  )
  assert.equal(readFileSync(file, 'utf8'), '// mine')
})

test('flags answer the questions, and the next line sets the key that the vendor needs', t => {
  const cwd = folder(t)
  const args = ['init', '--vendor', 'openai', '--model', "it's-new", '--agent', 'desk']
  const { code, stdout } = turnwire(args, { cwd })
  assert.equal(code, 0)
  assert.match(stdout, /^ {2}export OPENAI_API_KEY=<your key>\n {2}turnwire chat/m)
  const written = readFileSync(join(cwd, 'turnwire.config.ts'), 'utf8')
  assert.match(written, /^import \{ defineConfig, openai, tool \} from 'turnwire'$/m)
  assert.match(written, /name: 'desk',/)
  assert.match(written, /model: openai\(\{ model: 'it\\'s-new' \}\),/)
  // It loads: the key is needed only when the model is asked.
  assert.equal(turnwire(['keys', 'list'], { cwd }).code, 0)
})

test('the configuration of every vendor loads', t => {
  const cwd = folder(t)
  for (const vendor of Object.keys(initVendors)) {
    assert.equal(turnwire(['init', vendor, '--vendor', vendor], { cwd }).code, 0)
    const listed = turnwire(['keys', 'list', '--config', vendor], { cwd })
    assert.deepEqual([listed.code, listed.stderr], [0, ''], vendor)
  }
})

test('the models that it writes are those that prepare takes', () => {
  for (const [vendor, api] of [
    ['anthropic', 'anthropic'],
    ['openai', 'openai-responses'],
    ['gemini', 'gemini'],
  ] as const)
    assert.equal(initVendors[vendor]?.model, defaultModels[api], vendor)
})

test('a folder that cannot be made is told in one line', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'taken'), '')
  const { code, stderr } = turnwire(['init', 'taken'], { cwd })
  assert.equal(code, 2)
  assert.match(stderr, /^\S*taken cannot be made: EEXIST.*Choose another folder: turnwire init <folder>\n$/)
})

test('flags that cannot be used are refused before anything is written', t => {
  const cwd = folder(t)
  for (const [args, words] of [
    [['--vendor', 'antropic'], /Did you mean "anthropic"\?/],
    [['--model', 'x'], /The rehearsal model has no names/],
    [['--agent', 'two words'], /The name of an agent has 1 to 64 letters/],
  ] as const) {
    const { code, stderr } = turnwire(['init', ...args], { cwd })
    assert.equal(code, 2)
    assert.match(stderr, words)
  }
  assert.deepEqual(readdirSync(cwd), [])
})

test('with an application the next lines set the key too, and npm takes this checkout', t => {
  const cwd = folder(t)
  const made = turnwire(['init', 'My Shop', '--app', 'react', '--vendor', 'gemini'], { cwd })
  assert.match(made.stdout, /^ {2}export GEMINI_API_KEY=<your key>\n {2}cd 'My Shop' && npm start/m)
  const { name, dependencies } = JSON.parse(readFileSync(join(cwd, 'My Shop/package.json'), 'utf8'))
  assert.equal(name, 'my-shop')
  assert.equal(dependencies.turnwire, `file:${root}`)
})

test('the files of a React application pass its own type check', t => {
  const cwd = folder(t)
  assert.equal(turnwire(['init', 'shop', '--app', 'react'], { cwd }).code, 0)
  const shop = join(cwd, 'shop')
  const scopes = ['@types', '@fontsource-variable']
  for (const scope of scopes) mkdirSync(join(shop, 'node_modules', scope), { recursive: true })
  const beside = ['react', 'react-dom', 'vite', '@types/node', '@types/react', '@types/react-dom']
  for (const name of [...beside, '@fontsource-variable/inter'])
    symlinkSync(join(root, 'node_modules', name), join(shop, 'node_modules', name))
  symlinkSync(root, join(shop, 'node_modules/turnwire'))
  const check = () =>
    spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc')], {
      cwd: shop,
      encoding: 'utf8',
    })
  const { status, stdout } = check()
  assert.equal(status, 0, stdout)
  // It looks at these files: a mistake in one is found.
  writeFileSync(join(shop, 'src/wrong.ts'), "import { nothing } from './chat'\nnothing()\n")
  assert.match(check().stdout, /src\/wrong\.ts.*has no exported member/)
})

test('the route of a Next.js application passes requests on, and refuses pages of other sites', async t => {
  const cwd = folder(t)
  const made = turnwire(['init', 'shop', '--app', 'next'], { cwd })
  assert.equal(made.code, 0, made.stderr)
  const shop = join(cwd, 'shop')
  const { scripts, dependencies } = JSON.parse(readFileSync(join(shop, 'package.json'), 'utf8'))
  assert.deepEqual(Object.keys(scripts), ['start', 'dev', 'build', 'start:built'])
  assert.ok('next' in dependencies)
  const { url } = await serve(t, { cwd: shop })
  process.env['TURNWIRE_URL'] = url
  t.after(() => delete process.env['TURNWIRE_URL'])
  const route = pathToFileURL(join(shop, 'app/aap/[...path]/route.ts')).href
  const { GET, POST } = (await import(route)) as Record<
    'GET' | 'POST',
    (request: Request) => Promise<Response>
  > // just written
  const headers = { host: 'shop.example', origin: 'https://shop.example', cookie: 'secret=1' }
  const meta = await GET(new Request('https://shop.example/aap/v3/meta', { headers }))
  assert.equal(meta.status, 200)
  assert.match(await meta.text(), /"clerk"/)
  const body = JSON.stringify({ agent: { name: 'clerk' } })
  const json = { ...headers, 'content-type': 'application/json' }
  const post = (more: object) =>
    POST(
      new Request('https://shop.example/aap/v3/sessions', {
        method: 'POST',
        body,
        headers: { ...json, ...more },
      }),
    )
  assert.equal((await post({})).status, 201)
  assert.equal((await post({ origin: 'https://evil.example' })).status, 403)
})

test('an application that does not exist is refused with those that do', t => {
  const { code, stderr } = turnwire(['init', '--app', 'nxt'], { cwd: folder(t) })
  assert.equal(code, 2)
  assert.match(stderr, /There is no application "nxt" to write\..*next/)
})

test('an application is not written beside a package.json that cannot be read', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'package.json'), '{"name": ')
  const { code, stderr } = turnwire(['init', '--app', 'react'], { cwd })
  assert.equal(code, 2)
  assert.match(stderr, /package\.json is not a JSON object, so nothing was written/)
  assert.deepEqual(readdirSync(cwd), ['package.json'])
})

test('a .gitignore that is there is left as it is', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, '.gitignore'), 'mine\n')
  assert.match(turnwire(['init'], { cwd }).stdout, /^Wrote turnwire\.config\.ts\.$/m)
  assert.equal(readFileSync(join(cwd, '.gitignore'), 'utf8'), 'mine\n')
})

test('a configuration and its files load as modules in a folder that npm has marked as CommonJS', t => {
  const cwd = folder(t)
  writeFileSync(join(cwd, 'package.json'), '{"type": "commonjs"}')
  writeFileSync(join(cwd, 'names.ts'), "export const data: string = 'elsewhere'\n")
  writeFileSync(join(cwd, 'old.js'), 'module.exports = { model: 1 }\n')
  writeFileSync(
    join(cwd, 'turnwire.config.ts'),
    `import { defineConfig, rehearsal } from 'turnwire'
import { data } from './names.ts'
import old from './old.js'
if (old.model !== 1) throw new Error('a CommonJS file is loaded as one')
export default defineConfig({ agents: [{ name: 'a', model: rehearsal() }], data })
`,
  )
  const { code, stdout, stderr } = turnwire(['keys', 'list'], { cwd })
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /There are no keys in elsewhere/)
})
