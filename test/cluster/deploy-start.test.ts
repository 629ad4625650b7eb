// The files in deploy/ start with what `init` writes, in a clean folder, as a user without rights.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { turnwire } from '../cli/rig.ts'
import { freePort } from '../free-port.ts'
import { own, startServer } from '../stores/postgres/server.ts'
import {
  appFolder,
  composeEnvironment,
  givenTo,
  imageCommand,
  makeKey,
  onPort,
  readDeploy,
  type Start,
  startDeployed,
} from './deployed.ts'

/** A folder with the package installed and the files of `init`. */
function installed(t: TestContext): string {
  const folder = appFolder(t)
  const { code, stderr } = turnwire(['init', '--agent', 'clerk'], { cwd: join(folder, 'app') })
  assert.equal(code, 0, stderr)
  return folder
}

/** Starts it, and has a turn with the key. */
async function startsAndAnswers(t: TestContext, start: Start, key: string): Promise<string> {
  const { url } = await startDeployed(t, start)
  assert.equal((await fetch(`${url}/meta`)).status, 401)
  const answer = await fetch(`${url}/session`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ agent: { name: 'clerk' }, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  assert.equal(answer.status, 201, await answer.clone().text())
  return url
}

test('the commands of the Dockerfile start, keep sessions in their volume, and pass its health check', async t => {
  const folder = installed(t)
  const file = readDeploy('Dockerfile')
  const app = join(folder, 'app')
  const { key, entry } = makeKey(folder)
  assert.match(file, /^RUN mkdir \.turnwire && chown node:node \.turnwire$/m)
  givenTo(join(app, '.turnwire'))
  const port = await freePort()
  const words = onPort(imageCommand(), port)
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
  const unit = readDeploy('turnwire.service')
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
    const composed = composeEnvironment('node-1', {
      databaseUrl: database.url,
      clusterSecret: secrets['cluster-secret'],
      vaultKey: secrets['vault-key'],
      keys: entry,
    })
    const [deployment] = parseAllDocuments(readDeploy('kubernetes.yaml')).map(each => each.toJS() as Manifest) // its own shape
    const [container] = deployment?.spec.template.spec.containers ?? []
    const inCluster = Object.fromEntries(
      (container?.env ?? []).flatMap(({ name, valueFrom }) => {
        const found = Object.entries(secrets).find(([secret]) => secret === valueFrom?.secretKeyRef?.key)
        return found ? [[name, found[1]]] : []
      }),
    )
    const words = imageCommand()
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
