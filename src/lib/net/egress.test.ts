// Real servers on this machine stand for the internet and for what must not be reached.
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import test, { type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Egress, EgressRefused, type EgressReport, type EgressRules } from './egress.ts'

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

function egressFor(t: TestContext, rules: EgressRules): Egress {
  const egress = new Egress(rules)
  t.after(() => egress.close())
  return egress
}

test('T-17 private addresses are refused in every spelling, and nothing connects', async t => {
  let connections = 0
  const host = await serve(t, (_, answer) => {
    connections += 1
    answer.end('inside')
  })
  const port = host.split(':')[1]
  const egress = egressFor(t, {})
  const spellings = [
    '127.0.0.1',
    '127.1',
    '0x7f.1',
    '0x7f000001',
    '2130706433',
    '017700000001',
    'localhost',
    '0.0.0.0',
  ]
  for (const spelling of [...spellings, '[::1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]'])
    await assert.rejects(egress.fetch(`http://${spelling}:${port}/`), EgressRefused, spelling)
  await assert.rejects(egress.fetch('http://169.254.169.254/latest/meta-data'), /Link-local/)
  assert.equal(connections, 0)
})

test('only http and https, and no credentials in the address', async t => {
  const egress = egressFor(t, {})
  for (const url of [
    'file:///etc/passwd',
    'gopher://example.com/',
    'ftp://example.com/',
    'data:text/plain,x',
  ])
    await assert.rejects(egress.fetch(url), EgressRefused, url)
  await assert.rejects(egress.fetch('http://user:password@example.com/'), EgressRefused)
})

test('a private host that is named may be reached, at the named port only', async t => {
  const host = await serve(t, (_, answer) => answer.end('intranet'))
  const other = await serve(t, (_, answer) => answer.end('other'))
  const egress = egressFor(t, { privateHosts: [host.replace('127.0.0.1', 'localhost'), host] })
  assert.equal(await (await egress.fetch(`http://${host}/`)).text(), 'intranet')
  assert.equal(
    await (await egress.fetch(`http://${host.replace('127.0.0.1', 'localhost')}/`)).text(),
    'intranet',
  )
  await assert.rejects(egress.fetch(`http://${other}/`), EgressRefused)
  await assert.rejects(egress.fetch(`http://${other.replace('127.0.0.1', 'localhost')}/`), EgressRefused)
})

test('hosts that are not listed are refused', async t => {
  const egress = egressFor(t, { hosts: ['api.example.com', '*.example.org', 'example.net:8443'] })
  for (const url of [
    'http://example.com/',
    'http://example.org/',
    'https://example.net/',
    'http://evilexample.org/',
  ])
    await assert.rejects(egress.fetch(url), /not on the list/, url)
  await assert.rejects(
    egress.fetch('http://api.example.com/', { hosts: ['other.example.com'] }),
    /not on the list/,
    'a request may narrow the list',
  )
})

test('a redirect is checked like an address, and takes no credentials to another origin', async t => {
  const seen: (string | undefined)[] = []
  const target = await serve(t, (request, answer) => {
    seen.push(request.headers.authorization, request.headers['x-api-key'] as string | undefined)
    answer.end('there')
  })
  const secret = await serve(t, (_, answer) => answer.end('never'))
  const first = await serve(t, (request, answer) => {
    const to = request.url === '/inside' ? secret : request.url === '/file' ? '' : target
    answer.writeHead(302, { location: to === '' ? 'file:///etc/passwd' : `http://${to}/` }).end()
  })
  const egress = egressFor(t, { privateHosts: [first, target] })
  const headers = { authorization: 'Bearer secret', 'x-api-key': 'secret' }
  assert.equal(await (await egress.fetch(`http://${first}/`, { headers })).text(), 'there')
  assert.deepEqual(seen, [undefined, undefined])
  await assert.rejects(egress.fetch(`http://${first}/inside`), EgressRefused)
  await assert.rejects(egress.fetch(`http://${first}/file`), EgressRefused)
})

test('redirects end', async t => {
  const host = await serve(t, (request, answer) =>
    answer.writeHead(302, { location: `${request.url}x` }).end(),
  )
  await assert.rejects(egressFor(t, { privateHosts: [host] }).fetch(`http://${host}/`), /more than 5 times/)
})

test('a name is refused if any of its addresses is private, at each connection anew', async t => {
  let connections = 0
  const host = await serve(t, (_, answer) => {
    connections += 1
    answer.end('inside')
  })
  const answers = [['8.8.8.8', '127.0.0.1'], ['127.0.0.1'], ['::ffff:127.0.0.1']]
  const asked: string[] = []
  const egress = new Egress({}, (name, _, callback) => {
    asked.push(name)
    callback(
      null,
      (answers.shift() ?? []).map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  })
  t.after(() => egress.close())
  for (let count = 0; count < 3; count += 1)
    await assert.rejects(egress.fetch(`http://rebind.example:${host.split(':')[1]}/`), EgressRefused)
  assert.equal(asked.length, 3)
  assert.equal(connections, 0)
})

test('an answer that is too large is cut off, also when it grows by decompression', async t => {
  const bomb = gzipSync(Buffer.alloc(5_000_000))
  const host = await serve(t, (request, answer) => {
    if (request.url === '/bomb') answer.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    else answer.end(Buffer.alloc(2_000_000, 'x'))
  })
  const egress = egressFor(t, { privateHosts: [host], maxBytes: 1_000_000 })
  for (const path of ['/', '/bomb'])
    await assert.rejects(
      egress.fetch(`http://${host}${path}`).then(answer => answer.arrayBuffer()),
      /more than 1000000 bytes/,
    )
})

test('an answer that does not come is given up, as is one that stops half way', async t => {
  const host = await serve(t, (request, answer) => {
    if (request.url === '/half') answer.write('half')
  })
  const egress = egressFor(t, { privateHosts: [host], timeoutMs: 100 })
  for (const path of ['/', '/half'])
    await assert.rejects(
      egress.fetch(`http://${host}${path}`).then(answer => answer.text()),
      /within 100 ms/,
    )
})

test('the rate is limited', async t => {
  const host = await serve(t, (_, answer) => answer.end())
  const egress = egressFor(t, { privateHosts: [host], perMinute: 2 })
  await egress.fetch(`http://${host}/`)
  await egress.fetch(`http://${host}/`)
  await assert.rejects(egress.fetch(`http://${host}/`), /2 requests in a minute/)
})

test('every request is reported once, with what came of it', async t => {
  const host = await serve(t, (_, answer) => answer.writeHead(201).end('twelve bytes'))
  const egress = egressFor(t, { privateHosts: [host] })
  const reports: EgressReport[] = []
  const report = (each: EgressReport): void => void reports.push(each)
  await (await egress.fetch(`http://${host}/`, { method: 'POST', body: '{}', report })).text()
  await assert.rejects(egress.fetch('http://10.0.0.1/', { report }))
  const [sent, refused] = reports
  assert.deepEqual({ ...sent, ms: 0 }, { method: 'POST', host, status: 201, bytes: 12, ms: 0 })
  assert.match(refused?.refused ?? '', /private address 10\.0\.0\.1/)
  assert.equal(reports.length, 2)
})

test('bodies, headers and compressed answers pass', async t => {
  const host = await serve(t, (request, answer) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const seen = {
        method: request.method,
        type: request.headers['content-type'],
        body,
        x: request.headers['x-a'],
      }
      answer.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' })
      answer.end(gzipSync(JSON.stringify(seen)))
    })
  })
  const egress = egressFor(t, { privateHosts: [host] })
  const body = new URLSearchParams({ a: '1 2' })
  const answer = await egress.fetch(`http://${host}/`, { method: 'PUT', body, headers: { 'x-a': 'b' } })
  assert.deepEqual(await answer.json(), {
    method: 'PUT',
    type: 'application/x-www-form-urlencoded;charset=UTF-8',
    body: 'a=1+2',
    x: 'b',
  })
})

/** Sends these bytes and keeps the connection open. `closed` resolves when the other side has closed it. */
async function serveBytes(t: TestContext, bytes: string): Promise<{ host: string; closed: Promise<void> }> {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const server = createTcpServer(socket => {
    socket.on('error', () => {})
    socket.once('close', () => resolve())
    socket.once('data', () => socket.write(bytes))
  })
  await new Promise<void>(ready => server.listen(0, '127.0.0.1', ready))
  t.after(() => server.close())
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, closed }
}

const endless = 'transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'

for (const [how, leave] of Object.entries({
  'is cancelled at once': async (answer: Response) => answer.body?.cancel(),
  'is cancelled after a read': async (answer: Response) => {
    const reader = answer.body!.getReader()
    await assert.rejects(reader.read())
    await reader.cancel().catch(() => {})
  },
  'is never read': async () => {},
}))
  test(`an answer that claims to be compressed, is not, and ${how} ends its connection and nothing else`, async t => {
    const { host, closed } = await serveBytes(t, `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n${endless}`)
    const reports: EgressReport[] = []
    const egress = egressFor(t, { privateHosts: [host] })
    await leave(await egress.fetch(`http://${host}/`, { report: each => void reports.push(each) }))
    await closed
    assert.equal(reports.length, 1)
    assert.notEqual(reports[0]?.refused, undefined)
  })

for (const [what, head] of Object.entries({
  'a redirect': 'HTTP/1.1 302 Found\r\nlocation: http://10.0.0.1/\r\n',
  'a 205': 'HTTP/1.1 205 Reset Content\r\n',
  'the status 999': 'HTTP/1.1 999 Denied\r\n',
  'the status 099': 'HTTP/1.1 099 Odd\r\n',
}))
  test(`${what} with a body that never ends closes its connection`, async t => {
    const { host, closed } = await serveBytes(t, head + endless)
    const egress = egressFor(t, { privateHosts: [host] })
    const outcome = await egress.fetch(`http://${host}/`).then(
      answer => answer.text(),
      (error: Error) => error.message,
    )
    await closed
    if (what.startsWith('the status')) assert.match(outcome, /status \d+, which HTTP does not have/)
  })

test('what throws when it is told of a request changes nothing', async t => {
  const host = await serve(t, (_, answer) => answer.end('whole'))
  const egress = egressFor(t, { privateHosts: [host] })
  const report = (): never => {
    throw new Error('reporter')
  }
  assert.equal(await (await egress.fetch(`http://${host}/`, { report })).text(), 'whole')
})

test('a connection that fails after it was made ends nothing but itself', async t => {
  const { host } = await serveBytes(t, '')
  const egress = egressFor(t, { privateHosts: [host] })
  const socket = await egress.connect(new URL(`http://${host}/`))
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.destroy(new Error('reset'))
  await closed
})

test('the deadline of an answer that nobody reads does not keep the process alive', async t => {
  const host = await serve(t, (_, answer) => void answer.end('never read'))
  const egress = egressFor(t, { privateHosts: [host] })
  const timers = (): number => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const before = timers()
  await egress.fetch(`http://${host}/`)
  assert.ok(timers() <= before)
})
