// The files of the console as a browser and as other clients get them.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { startServer, Turnwire } from '../../src/index.ts'
import { scripted } from '../../src/models/scripted/index.ts'
import { consoleFolder } from '../../src/server/console-files.ts'

type Got = { encoding: string | undefined; body: Buffer }

function get(url: string, acceptEncoding?: string): Promise<Got> {
  const headers = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }
  return new Promise((resolve, reject) => {
    request(url, { headers }, response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ encoding: response.headers['content-encoding'], body: Buffer.concat(chunks) }),
      )
    })
      .on('error', reject)
      .end()
  })
}

test('scripts are sent as gzip to clients that take it, and as they are to others', async t => {
  const folder = consoleFolder()
  if (folder === undefined) return t.skip('the console was not built: npm run console')
  // The largest: a script of a few lines is hardly smaller when it is compressed.
  const scripts = readdirSync(join(folder, 'assets'))
    .filter(file => file.endsWith('.js'))
    .map(file => ({ file, body: readFileSync(join(folder, 'assets', file)) }))
    .sort((one, other) => other.body.length - one.body.length)
  const [largest] = scripts
  assert.ok(largest)
  const { file: name, body: whole } = largest
  const turnwire = await Turnwire.open({ agents: [{ name: 'helper', model: scripted([]) }], data: 'memory' })
  const server = await startServer(turnwire, { port: 0 })
  t.after(() => server.stop())
  const url = `${server.url}/console/assets/${name}`
  for (const plain of [undefined, 'br', 'gzip;q=0, br']) {
    const got = await get(url, plain)
    assert.equal(got.encoding, undefined, plain)
    assert.deepEqual(got.body, whole)
  }
  for (const _ of ['compressed now', 'compressed before']) {
    const got = await get(url, 'gzip, deflate, br')
    assert.equal(got.encoding, 'gzip')
    assert.ok(got.body.length < whole.length / 2)
    assert.deepEqual(gunzipSync(got.body), whole)
  }
  return undefined
})
