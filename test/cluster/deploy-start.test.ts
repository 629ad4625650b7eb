// The files in deploy/ start with what `init` writes: their own commands and environments, in a clean folder, as a user who may write only
// where the file lets them. Ports differ, so that several tests run at once; no image is built.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { command, environment, root, turnwire, watched } from '../cli/rig.ts'
import { own, startServer } from '../stores/postgres/server.ts'

const read = (file: string): string => readFileSync(join(root, 'deploy', file), 'utf8')

/** Somebody without rights, where this process may become them. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** A folder with the package installed and the files of `init`, which `nobody` can read and not write. */
function installed(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnwire-deploy-')))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const app = join(folder, 'app')
  mkdirSync(join(app, 'node_modules/.bin'), { recursive: true })
  symlinkSync(root, join(app, 'node_modules/turnwire'))
  symlinkSync(command, join(app, 'node_modules/.bin/turnwire'))
  const { code, stderr } = turnwire(['init', '--agent', 'clerk'], { cwd: app })
  assert.equal(code, 0, stderr)
  return folder
}

/** What is writable for the user that the file names. */
function givenTo(folder: string): string {
  mkdirSync(folder, { recursive: true })
  if (nobody.uid !== undefined) chownSync(folder, nobody.uid, nobody.gid)
  return folder
}

/** A key and its entry, as the comments of the files say to make them. */
function makeKey(cwd: string): { key: string; entry: string } {
  const { stdout } = turnwire(['keys', 'hash', 'me'], { cwd })
  const [, key = ''] = /^(tw_\S+)$/m.exec(stdout) ?? []
  const [, entry = ''] = /^TURNWIRE_KEYS=(\S+)$/m.exec(stdout) ?? []
  return { key, entry }
}

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

type Start = { words: readonly string[]; cwd: string; env: Record<string, string> }

/** Runs the command as nobody until it listens, and has a turn with the key. */
async function startsAndAnswers(t: TestContext, { words, cwd, env }: Start, key: string): Promise<string> {
  const [program = '', ...args] = words
  const path = process.execPath.replace(/\/[^/]+$/, '')
  const started = watched(
    t,
    spawn(program, args, {
      cwd,
      env: { ...environment(), PATH: `${path}:/usr/bin:/bin`, HOME: '/nowhere', ...env },
      ...nobody,
    }),
  )
  await started.until(/Ctrl-C stops it/)
  const url = `http://127.0.0.1:${args[args.indexOf('--port') + 1]}`
  assert.equal((await fetch(`${url}/meta`)).status, 401)
  const answer = await fetch(`${url}/session`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ agent: { name: 'clerk' }, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  assert.equal(answer.status, 201, await answer.clone().text())
  return url
}

const onPort = (words: readonly string[], port: number): string[] =>
  words.map(word => word.replaceAll('4117', String(port)))

test('the commands of the Dockerfile start, keep sessions in their volume, and pass its health check', async t => {
  const folder = installed(t)
  const file = read('Dockerfile')
  const list = (name: string): string[] =>
    JSON.parse(new RegExp(`^${name} (\\[.*\\])$`, 'm').exec(file)?.[1] ?? '[]') as string[]
  const app = join(folder, 'app')
  const { key, entry } = makeKey(folder)
  assert.match(file, /^RUN mkdir \.turnwire && chown node:node \.turnwire$/m)
  givenTo(join(app, '.turnwire'))
  const port = await freePort()
  const words = onPort([...list('ENTRYPOINT'), ...list('CMD')], port)
  assert.equal(words[1], 'node_modules/.bin/turnwire')
  await startsAndAnswers(
    t,
    {
      words,
      cwd: app,
      env: { TURNWIRE_KEYS: entry, NODE_ENV: 'production' },
    },
    key,
  )
  const [, health = '[]'] = /HEALTHCHECK[^\n]*\\\n +CMD (\[.*\])$/m.exec(file) ?? []
  const [program = '', ...args] = onPort(JSON.parse(health) as string[], port)
  assert.equal(spawnSync(program === 'node' ? process.execPath : program, args).status, 0)
})

test('the command of the systemd unit starts with its folder read only and its state elsewhere', async t => {
  const folder = installed(t)
  const unit = read('turnwire.service')
  const here = (text: string): string =>
    text
      .replaceAll('/srv/turnwire', join(folder, 'app'))
      .replaceAll('/var/lib/turnwire', join(folder, 'state'))
  const [, line = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? []
  const [, cwd = ''] = /^WorkingDirectory=(.*)$/m.exec(unit) ?? []
  assert.match(unit, /^StateDirectory=turnwire$/m)
  const { key, entry } = makeKey(folder)
  const words = onPort(here(line).split(' '), await freePort())
  await startsAndAnswers(t, { words, cwd: givenTo(here(cwd)), env: { TURNWIRE_KEYS: entry } }, key)
})

test('without a key it does not start, and says which variable to set', t => {
  const folder = installed(t)
  givenTo(join(folder, 'app/.turnwire'))
  const { code, stderr } = turnwire(['serve', '--host', '0.0.0.0', '--port', '0'], {
    cwd: join(folder, 'app'),
  })
  assert.equal(code, 1)
  assert.match(stderr, /Make a key first.*TURNWIRE_KEYS/)
})

type Compose = { services: Record<string, { environment: Record<string, string> }> }
type Container = { env: { name: string; value?: string; valueFrom?: { secretKeyRef?: { key: string } } }[] }
type Manifest = { spec: { template: { spec: { containers: Container[] } } } }

test(
  'the nodes of the compose file and of the Kubernetes manifest start on one database with no folder of their own',
  own,
  async t => {
    const folder = installed(t)
    const database = await startServer()
    t.after(() => database.remove())
    const { key, entry } = makeKey(folder)
    const secrets = {
      'cluster-secret': 'c'.repeat(40),
      'vault-key': 'v'.repeat(40),
      keys: entry,
      'database-url': database.url,
    }
    const { services } = parse(read('compose.yaml'), { merge: true }) as Compose // its own shape
    const filled = (text: string): string =>
      text
        .replace(/^postgres:.*$/, database.url)
        .replace(/\$\{TURNWIRE_CLUSTER_SECRET.*\}/, secrets['cluster-secret'])
        .replace(/\$\{TURNWIRE_VAULT_KEY.*\}/, secrets['vault-key'])
        .replace(/\$\{TURNWIRE_KEYS.*\}/, entry)
    const composed = Object.fromEntries(
      Object.entries(services['node-1']?.environment ?? {}).map(([name, value]) => [name, filled(value)]),
    )
    const [deployment] = parseAllDocuments(read('kubernetes.yaml')).map(each => each.toJS() as Manifest) // its own shape
    const [container] = deployment?.spec.template.spec.containers ?? []
    const inCluster = Object.fromEntries(
      (container?.env ?? []).flatMap(({ name, valueFrom }) => {
        const found = Object.entries(secrets).find(([secret]) => secret === valueFrom?.secretKeyRef?.key)
        return found ? [[name, found[1]]] : []
      }),
    )
    const words = ['node', 'node_modules/.bin/turnwire', 'serve', '--host', '0.0.0.0', '--port', '4117']
    for (const env of [composed, inCluster]) {
      assert.deepEqual(
        ['DATABASE_URL', 'TURNWIRE_CLUSTER_SECRET', 'TURNWIRE_KEYS', 'TURNWIRE_VAULT_KEY'].filter(
          name => !env[name],
        ),
        [],
      )
      const address = { TURNWIRE_NODE_ADDRESS: `127.0.0.1:${await freePort()}` }
      const url = await startsAndAnswers(
        t,
        { words: onPort(words, await freePort()), cwd: join(folder, 'app'), env: { ...env, ...address } },
        key,
      )
      assert.equal((await fetch(`${url}/health`)).status, 200)
    }
  },
)
