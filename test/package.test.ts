// The package as `npm pack` makes it: it can be installed and used in an empty folder, the command runs without TypeScript, the library holds a session, and every
// door of package.json leads to a built file with types.
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { findChromium } from '../scripts/install-chromium.mjs'
import { withoutComments } from './architecture-rules.ts'
import { environment, folder, watched } from './cli/rig.ts'
import { type Packed, packed } from './packed.ts'

describe('the published package', () => {
  let made: Packed
  before(() => {
    made = packed()
    // As if it were installed: what it needs is beside it.
    symlinkSync(resolve('node_modules'), join(made.home, 'node_modules'))
  })
  after(() => rmSync(made.home, { recursive: true, force: true }))

  test('has only what it needs to run, and every export is there', () => {
    const manifest = JSON.parse(readFileSync(join(made.folder, 'package.json'), 'utf8'))
    const doors = Object.values<string | { types: string; default: string }>(manifest.exports)
    for (const file of doors.flatMap(door => (typeof door === 'string' ? [door] : Object.values(door))))
      assert.ok(existsSync(join(made.folder, file)), `${file} is missing`)
    const { devDependencies, optionalDependencies, scripts } = manifest
    assert.deepEqual(
      [manifest.private, devDependencies, optionalDependencies, scripts],
      [undefined, undefined, undefined, undefined],
    )
    assert.deepEqual(globSync(['src/**', 'dist/**/*.test.js'], { cwd: made.folder }), [])
  })

  test('carries the web console, and React only as an optional peer', () => {
    const page = readFileSync(join(made.folder, 'dist/console/index.html'), 'utf8')
    for (const [, file = ''] of page.matchAll(/(?:src|href)="\/console\/([^"]+)"/g))
      assert.ok(existsSync(join(made.folder, 'dist/console', file)), `${file} is missing`)
    const manifest = JSON.parse(readFileSync(join(made.folder, 'package.json'), 'utf8'))
    assert.equal(manifest.peerDependenciesMeta.react.optional, true)
    assert.ok(!Object.hasOwn(manifest.dependencies, 'react'))
    assert.equal(manifest.overrides, undefined)
  })

  test('npm has put the checkout’s own package.json back', () => {
    const file = join(made.home, 'checkout/package.json')
    assert.equal(readFileSync(file, 'utf8'), readFileSync('package.json', 'utf8'))
  })

  test('no peer is required: what an application has beside it never conflicts', () => {
    const manifest = JSON.parse(readFileSync(join(made.folder, 'package.json'), 'utf8'))
    const peers = Object.keys(manifest.peerDependencies)
    assert.deepEqual(
      peers.filter(name => manifest.peerDependenciesMeta[name]?.optional !== true),
      [],
    )
    assert.ok(peers.includes('postgres') && !peers.includes('zod'))
    const pinned = Object.entries<string>(manifest.dependencies).filter(([, range]) => !range.startsWith('^'))
    assert.deepEqual(pinned, [])
  })

  test('npm would publish it: public, with provenance, from the repository that packs, and with a section of the changelog', t => {
    let report: string
    try {
      report = execFileSync('npm', ['publish', '--dry-run', '--json', '--no-provenance', made.tarball], {
        cwd: made.home,
        env: environment(networkOf(process.env)),
        encoding: 'utf8',
        stdio: 'pipe',
      })
    } catch (error) {
      if (!isOffline(error)) throw error
      return t.skip('No registry answers.')
    }
    const told = JSON.parse(report)
    const { name, version, unpackedSize, files } = told.turnwire ?? told
    const manifest = JSON.parse(readFileSync(join(made.folder, 'package.json'), 'utf8'))
    assert.deepEqual([name, version], ['turnwire', manifest.version])
    assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true })
    const web = 'https://github.com/example/turnwire'
    assert.deepEqual(
      [manifest.repository, manifest.homepage, manifest.bugs],
      [{ type: 'git', url: `git+${web}.git` }, `${web}#readme`, { url: `${web}/issues` }],
    )
    assert.ok(manifest.keywords.length > 5)
    assert.ok(unpackedSize < 9_000_000, `${unpackedSize} bytes unpacked`)
    assert.deepEqual(
      files.filter(({ path }: { path: string }) => path.endsWith('.map')),
      [],
    )
    assert.match(readFileSync('CHANGELOG.md', 'utf8'), new RegExp(`^## ${version} \\(`, 'm'))
  })

  test('the pages that it names are there', () => {
    for (const page of globSync(['*.md', 'docs/**/*.md'], { cwd: made.folder })) {
      const text = readFileSync(join(made.folder, page), 'utf8')
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g))
        assert.ok(existsSync(join(made.folder, dirname(page), target)), `${page} leads to ${target}`)
    }
  })

  test('commands that say their version run where it is installed, far from any checkout', t => {
    const cwd = folder(t)
    const run = (args: string[], input = ''): string =>
      execFileSync(process.execPath, [join(made.folder, 'bin/turnwire.mjs'), ...args], {
        cwd,
        encoding: 'utf8',
        input,
      })
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.equal(run(['--version']), `${version}\n`)
    const hello = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: 1, clientCapabilities: {} },
    }
    const { result } = JSON.parse(run(['acp'], `${JSON.stringify(hello)}\n`))
    assert.equal(result.agentInfo.version, version)
  })

  test('the first minutes: npm init -y, npm i, npx turnwire init, npx turnwire serve, an approved call in the browser', async t => {
    const began = performance.now()
    const cwd = folder(t)
    const npm = (...args: string[]): string =>
      execFileSync('npm', args, {
        cwd,
        env: environment(networkOf(process.env)),
        encoding: 'utf8',
        stdio: 'pipe',
      })
    npm('init', '-y')
    try {
      // Beside an older zod: a package that asked for a newer one as its peer could not be installed.
      npm('install', '--prefer-offline', '--no-audit', '--no-fund', 'zod@3.25.76', made.tarball)
      const kept = Object.keys(
        JSON.parse(readFileSync(join(cwd, 'node_modules/.package-lock.json'), 'utf8')).packages,
      )
      assert.ok(kept.length <= 40, `${kept.length} packages: ${kept.join(' ')}`)
      assert.equal(kept.filter(path => path.endsWith('/postgres')).length, 0)
    } catch (error) {
      if (!isOffline(error)) throw error
      t.diagnostic('No registry answers: the package is unpacked instead of installed.')
      unpackInto(cwd, made)
    }
    // In a group of its own, as in a terminal: npx does not pass on the signal that ends it.
    const npx = (...args: string[]) => {
      const child = spawn('npx', args, { cwd, env: environment({ PORT: '0' }), detached: true })
      t.after(() => endGroup(child))
      return child
    }
    const wrote = watched(t, npx('turnwire', 'init', '--agent', 'keeper'))
    assert.equal(await wrote.exit, 0, wrote.stderr())
    assert.match(wrote.stdout(), /^Wrote turnwire\.config\.ts and \.gitignore\.$/m)
    assert.match(wrote.stdout(), /npx turnwire serve/)
    const served = watched(t, npx('turnwire', 'serve'))
    const [, url] = await served.until(/listens on (http:\/\/\S+)[\s\S]*Ctrl-C stops it/)
    assert.match(served.stdout(), /agents {4}keeper \(turnwire\.config\.ts\)/)
    assert.doesNotMatch(served.stderr(), /Warning/)
    const { agents } = (await (await fetch(`${url}/meta`)).json()) as { agents: { name: string }[] }
    assert.deepEqual(
      agents.map(agent => agent.name),
      ['keeper'],
    )
    await walkThroughConsole(t, url ?? '')
    t.diagnostic(`From an empty folder to here: ${((performance.now() - began) / 1000).toFixed(1)} s.`)
    endGroup(served.child)
    await served.exit
  })

  test('its types need the types of its dependencies alone, of no optional peer', () => {
    const doors = ['index', 'extend', 'testing/index', 'client/index', 'client/payments']
    const reached = reachedFrom(doors.map(door => join(made.folder, `dist/${door}.d.ts`)))
    assert.ok(reached.size > 30)
    const named = [...reached].flatMap(file =>
      [
        ...withoutComments(readFileSync(file, 'utf8')).matchAll(/(?:from|import\() ?['"]([^."'][^'"]*)['"]/g),
      ].map(([, name = '']) => name),
    )
    const { dependencies } = JSON.parse(readFileSync(join(made.folder, 'package.json'), 'utf8'))
    // The package ws has no types of its own. A text of ours has a program that imports turnwire.
    const typed = ['turnwire', ...Object.keys(dependencies).filter(name => name !== 'ws')]
    const isThere = (name: string) =>
      name.startsWith('node:') || typed.some(each => name === each || name.startsWith(`${each}/`))
    assert.ok(named.some(isThere))
    assert.deepEqual(
      [...new Set(named)].filter(name => !isThere(name)),
      [],
    )
  })

  test('no types are packed that no door of the package leads to', () => {
    const manifest = JSON.parse(readFileSync(join(made.folder, 'package.json'), 'utf8'))
    const doors = Object.values<string | { types: string }>(manifest.exports)
    const types = doors.flatMap(door => (typeof door === 'string' ? [] : [join(made.folder, door.types)]))
    const reached = reachedFrom(types)
    const packedTypes = globSync('**/*.d.ts', { cwd: made.folder }).map(file => join(made.folder, file))
    assert.deepEqual(
      packedTypes.filter(file => !reached.has(file)),
      [],
    )
  })

  test('the client and the React parts load nothing of the server', () => {
    const reached = reachedFrom(['client', 'react'].map(door => join(made.folder, `dist/${door}/index.js`)))
    assert.ok(reached.size > 30)
    const rooms = new Set([...reached].map(file => relative(join(made.folder, 'dist'), file).split('/')[0]))
    assert.deepEqual(rooms, new Set(['client', 'react', 'language', 'lib']))
  })

  test('the door for Vue loads Vue, and nothing of React', () => {
    const reached = reachedFrom([join(made.folder, 'dist/vue/index.js')])
    assert.ok(reached.size > 10)
    const named = [...reached].flatMap(file =>
      [...readFileSync(file, 'utf8').matchAll(/ from ["']([^."'][^"']*)["']/g)].map(([, name]) => name),
    )
    assert.deepEqual(new Set(named), new Set(['vue']))
    const types = [...reachedFrom([join(made.folder, 'dist/vue/index.d.ts')])]
    assert.ok(types.length > 5)
    assert.deepEqual(
      types.filter(file => /from ['"](?:react\b|[^'"]*\.tsx)/.test(readFileSync(file, 'utf8'))),
      [],
    )
  })

  test('the React parts bring their libraries with them, with their licences: a server installs none', () => {
    const folder = join(made.folder, 'dist/react')
    const imported = /^(?:import|export)\b[^'"]*? from ["']([^."'][^"']*)["']/gm
    const named = globSync('**/*.js', { cwd: folder }).flatMap(file =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(imported)].map(([, name]) => name),
    )
    assert.deepEqual(new Set(named), new Set(['react', 'react/jsx-runtime']))
    const licences = readFileSync(join(folder, 'npm/licences.txt'), 'utf8')
    for (const name of ['marked', '@tanstack/virtual-core', 'sugar-high'])
      assert.match(licences, new RegExp(`^${name} \\d.*\nLicence: MIT`, 'm'))
    const manifest = JSON.parse(readFileSync(join(made.folder, 'package.json'), 'utf8'))
    assert.ok(!Object.hasOwn(manifest.dependencies, 'marked'))
  })

  test('its contract suites run under node --test', () => {
    const program = `
      import { memoryStore } from ${JSON.stringify(pathToFileURL(join(made.folder, 'dist/index.js')).href)}
      import { storeContract } from ${JSON.stringify(pathToFileURL(join(made.folder, 'dist/testing/index.js')).href)}
      storeContract('memory', async () => ({ store: memoryStore(), cleanup: async () => {} }))`
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const args = ['--test-reporter=tap', '--input-type=module', '--eval', program]
    const report = execFileSync(process.execPath, args, { encoding: 'utf8', env })
    assert.match(report, /^# pass \d\d\n# fail 0$/m)
  })

  test('the library holds a session', async () => {
    const library: typeof import('../src/index.ts') = await import(
      pathToFileURL(join(made.folder, 'dist/index.js')).href
    )
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

/** What a newcomer does on the first page: asks for something that needs permission, reads why, and allows it. */
async function walkThroughConsole(t: TestContext, url: string): Promise<void> {
  const executablePath = findChromium()
  if (executablePath === undefined)
    return t.diagnostic('There is no Chromium: the console was not walked through.')
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-quic'] })
  try {
    const page = await browser.newPage()
    await page.goto(url)
    await page.getByRole('textbox', { name: /Say something/ }).fill('Cancel order 17')
    await page.keyboard.press('Enter')
    await page.getByText('Cancelling cannot be undone.').first().waitFor()
    await page
      .getByRole('button', { name: /^Allow/ })
      .first()
      .click()
    await page
      .getByText(/Order 17 is cancelled/)
      .first()
      .waitFor()
  } finally {
    await browser.close()
  }
}

/** The files that these reach through imports: of code, or of types. */
function reachedFrom(files: readonly string[], reached = new Set<string>()): Set<string> {
  for (const file of files) {
    if (reached.has(file)) continue
    reached.add(file)
    const ending = file.endsWith('.d.ts') ? '.d.ts' : '.js'
    const code = withoutComments(readFileSync(file, 'utf8'))
    const imports = code.matchAll(/(?:from|import\() ?['"](\.[^'"]+)['"]/g)
    const targets = [...imports].map(([, path = '']) => join(dirname(file), path))
    reachedFrom(
      targets.map(target => target.replace(/\.[jt]sx?$/, ending)),
      reached,
    )
  }
  return reached
}

function isOffline(error: unknown): boolean {
  return /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|ETIMEDOUT|SELF_SIGNED_CERT/.test(
    String(error),
  )
}

/** How this machine reaches a registry. */
function networkOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const known = /^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|npm_config_(?:registry|cafile)|(?:https?|no)_proxy)$/i
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (known.test(name) && value ? [[name, value]] : [])),
  )
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM')
  } catch {
    // It has ended.
  }
}

/** What an installation leaves behind, made without a registry. */
function unpackInto(cwd: string, made: Packed): void {
  const modules = join(cwd, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  cpSync(made.folder, join(modules, 'turnwire'), { recursive: true })
  symlinkSync('../turnwire/bin/turnwire.mjs', join(modules, '.bin/turnwire'))
  for (const name of readdirSync('node_modules')) {
    if (!name.startsWith('.') && !existsSync(join(modules, name)))
      symlinkSync(resolve('node_modules', name), join(modules, name))
  }
}
