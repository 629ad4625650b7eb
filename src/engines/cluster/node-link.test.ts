// A peer that knows the cluster's secret is accepted as a node, and no other peer.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls'
import { clusterSecret, connectToNode, listenForNodes, OtherSecret } from './node-link.ts'

const host = '127.0.0.1'
const secret = clusterSecret('a secret of the cluster, for tests only')

/** A certificate for this machine that every TLS client of this process trusts. */
function trustedCertificate(t: TestContext): { key: string; cert: string } {
  const folder = mkdtempSync(join(tmpdir(), 'turnwire-certificate-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = ['-subj', '/CN=localhost', '-addext', `subjectAltName=IP:${host},DNS:localhost`]
  const form = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...form, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const before = getCACertificates('default')
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  setDefaultCACertificates([...before, made.cert])
  t.after(() => setDefaultCACertificates(before))
  return made
}

test('a server with a certificate that everyone trusts, and without the secret, is sent nothing', async t => {
  let received = 0
  const server = createServer({ ...trustedCertificate(t), minVersion: 'TLSv1.3' }, socket => {
    socket.on('data', bytes => {
      received += bytes.length
    })
    socket.on('error', () => {})
  })
  server.on('tlsClientError', () => {})
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo // It listens on TCP.
  await assert.rejects(connectToNode({ host, port }, secret), OtherSecret)
  assert.equal(received, 0)
})

test('a node is reached with the secret, and with no other', async t => {
  let met = 0
  const listener = await listenForNodes({ host, port: 0 }, secret, () => {
    met += 1
  })
  t.after(() => listener.close())
  const channel = await connectToNode({ host, port: listener.port }, secret)
  t.after(() => channel.cut())
  const other = clusterSecret('another secret of another cluster, for tests')
  await assert.rejects(connectToNode({ host, port: listener.port }, other), OtherSecret)
  assert.equal(met, 1)
})
