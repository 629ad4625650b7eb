// The files in deploy/ are what their programs understand, and agree with the server: its ports, routes, settings and times.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'

const folder = join(import.meta.dirname, '../../deploy')
const read = (file: string): string => readFileSync(join(folder, file), 'utf8')

function has(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}

/** The instructions of a Dockerfile, with continued lines joined. */
function instructions(text: string): [name: string, rest: string][] {
  return text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter(line => line.trim() !== '' && !line.startsWith('#'))
    .map(line => {
      const [, name = '', rest = ''] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
      return [name, rest.replaceAll(/\s+/g, ' ')]
    })
}

test('the Dockerfile installs from the lock, runs as nobody special, and asks /health', t => {
  const lines = instructions(read('Dockerfile'))
  const known = [
    'FROM',
    'ENV',
    'WORKDIR',
    'COPY',
    'RUN',
    'VOLUME',
    'USER',
    'EXPOSE',
    'STOPSIGNAL',
    'HEALTHCHECK',
    'ENTRYPOINT',
    'CMD',
  ]
  assert.deepEqual(
    lines.filter(([name]) => !known.includes(name)),
    [],
  )
  const all = new Map(lines)
  assert.equal(lines[0]?.[0], 'FROM')
  assert.match(all.get('FROM') ?? '', /^node:24/)
  const copied = lines.find(([name]) => name === 'COPY')?.[1] ?? ''
  assert.match(
    copied,
    /^package\.json package-lock\.json \*\.tgz /,
    'also a package that was installed from its tarball',
  )
  assert.match(lines.find(([name]) => name === 'RUN')?.[1] ?? '', /^npm ci --omit=dev/)
  assert.equal(all.get('USER'), 'node')
  assert.match(all.get('HEALTHCHECK') ?? '', /4117\/health'/)
  for (const name of ['ENTRYPOINT', 'CMD']) assert.ok(Array.isArray(JSON.parse(all.get(name) ?? '')), name)
  if (!has('docker', 'buildx', 'version'))
    t.diagnostic('docker build --check was not run: there is no docker buildx')
  else {
    const { status, stderr } = spawnSync('docker', ['build', '--check', folder], { encoding: 'utf8' })
    if (/Cannot connect|no such host|failed to (?:resolve|do request)|permission denied/i.test(stderr))
      t.diagnostic('docker build --check was not run: no daemon or no registry can be reached')
    else assert.equal(status, 0, stderr)
  }
})

type Compose = {
  services: Record<string, { environment: Record<string, string>; stop_grace_period?: string }>
}

test('the compose file starts two nodes with addresses of their own', t => {
  const { services } = parse(read('compose.yaml'), { merge: true }) as Compose // its own shape
  for (const name of ['node-1', 'node-2']) {
    const { environment, stop_grace_period: grace } = services[name]!
    assert.equal(environment['TURNWIRE_NODE_ADDRESS'], `${name}:4118`)
    assert.match(environment['DATABASE_URL'] ?? '', /^postgres:\/\//)
    assert.ok(environment['TURNWIRE_CLUSTER_SECRET'])
    assert.ok(Number.parseInt(grace ?? '', 10) > 10, 'longer than graceMs')
  }
  if (!has('docker', 'compose', 'version')) {
    t.diagnostic('docker compose config was not run: there is no docker compose')
    return
  }
  const env = {
    ...process.env,
    POSTGRES_PASSWORD: 'x',
    TURNWIRE_CLUSTER_SECRET: 'y'.repeat(40),
    TURNWIRE_VAULT_KEY: 'z'.repeat(40),
    TURNWIRE_KEYS: 'k',
  }
  execFileSync('docker', ['compose', '--file', join(folder, 'compose.yaml'), 'config', '--quiet'], { env })
})

test('the systemd unit is one, and gives tools time to finish', t => {
  const unit = read('turnwire.service')
  assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) > 10)
  assert.match(unit, /^KillMode=mixed$/m, 'the signal goes to the server alone')
  if (!has('systemd-analyze', '--version')) {
    t.diagnostic('systemd-analyze verify was not run: there is no systemd')
    return
  }
  const place = mkdtempSync(join(tmpdir(), 'turnwire-unit-'))
  try {
    const file = join(place, 'turnwire.service')
    writeFileSync(file, unit)
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    assert.equal(
      stderr
        .split('\n')
        .filter(line => line.includes('turnwire.service'))
        .join('\n'),
      '',
    )
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

type Probe = { httpGet: { path: string; port: string } }
type Manifest = {
  apiVersion: string
  kind: string
  spec: {
    selector: { matchLabels?: object } & object
    template?: {
      metadata: { labels: object }
      spec: {
        terminationGracePeriodSeconds: number
        containers: {
          ports: { name: string; containerPort: number }[]
          env: { name: string; value?: string }[]
          readinessProbe: Probe
          livenessProbe: Probe
        }[]
      }
    }
  }
}

test('the Kubernetes manifest probes readiness and liveness apart, and tells each node its own address', () => {
  const documents = parseAllDocuments(read('kubernetes.yaml'))
  for (const { errors, warnings } of documents) assert.deepEqual([...errors, ...warnings], [])
  const [deployment, service, budget] = documents.map(each => each.toJS() as Manifest) // its own shape
  assert.deepEqual(
    [deployment, service, budget].map(each => `${each?.apiVersion} ${each?.kind}`),
    ['apps/v1 Deployment', 'v1 Service', 'policy/v1 PodDisruptionBudget'],
  )
  const template = deployment!.spec.template!
  assert.deepEqual(deployment!.spec.selector.matchLabels, template.metadata.labels)
  assert.deepEqual(service!.spec.selector, template.metadata.labels)
  assert.ok(template.spec.terminationGracePeriodSeconds > 10)
  const [container] = template.spec.containers
  const ports = new Map(container!.ports.map(({ name, containerPort }) => [name, containerPort]))
  assert.deepEqual(
    [...ports],
    [
      ['http', 4117],
      ['nodes', 4118],
    ],
  )
  assert.deepEqual(container!.readinessProbe.httpGet.path, '/health')
  assert.deepEqual(container!.livenessProbe.httpGet.path, '/health/live')
  const names = container!.env.map(({ name }) => name)
  // A variable that another one uses stands before it.
  assert.ok(names.indexOf('POD_IP') < names.indexOf('TURNWIRE_NODE_ADDRESS'))
  assert.equal(container!.env.find(({ name }) => name === 'TURNWIRE_NODE_ADDRESS')?.value, '$(POD_IP):4118')
})
