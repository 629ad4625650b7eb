// Declarations of resources and prompts: which addresses fit a pattern, and what is refused when they are made.
import assert from 'node:assert/strict'
import test from 'node:test'
import { getOwn, prompt, readOwn, resource } from './index.ts'

test('a name in a pattern stands for one part of a path', () => {
  const { match } = resource({ uri: 'a://{x}/b/{y}.txt', name: 'a', read: () => '' })
  assert.deepEqual(match('a://1/b/2%203.txt'), { x: '1', y: '2 3' })
  for (const other of ['a://1/c/2.txt', 'a://1/2/b/3.txt', 'a:///b/2.txt', 'a://1/b/2xtxt', 'a://%/b/2.txt'])
    assert.equal(match(other), undefined, other)
})

test('several names in one part are kept apart by what stands between them', () => {
  const { match } = resource({ uri: 'a://{x}-{y}.{z}/end', name: 'a', read: () => '' })
  assert.deepEqual(match('a://1-2.3/end'), { x: '1', y: '2', z: '3' })
  // An earlier name takes as much as it can.
  assert.deepEqual(match('a://1-2-3.4.5/end'), { x: '1-2', y: '3.4', z: '5' })
  assert.deepEqual(match('a://1--.3/end'), { x: '1', y: '-', z: '3' })
  for (const other of ['a://-2.3/end', 'a://1-.3/end', 'a://1-2./end', 'a://1.2-3/end', 'a://1-2.3/end/'])
    assert.equal(match(other), undefined, other)
})

test('an address takes about as long as its length, whatever it is made of (T-19)', () => {
  const { match } = resource({ uri: 'a://{a}-{b}-{c}-{d}/{e}.x', name: 'a', read: () => '' })
  const micros = (length: number): number => {
    const address = `a://${'-'.repeat(length)}/y`
    const before = process.cpuUsage()
    assert.equal(match(address), undefined)
    return process.cpuUsage(before).user
  }
  micros(60)
  const [short, long] = [60, 480].map(length => Math.min(micros(length), micros(length), micros(length)))
  // Eight times as long. An expression that tries every way takes 4,096 times as long, which is seconds.
  assert.ok(long! < 100 * Math.max(short!, 1_000), `${short} and ${long} µs`)
  assert.equal(match(`a://${'a-'.repeat(10_000)}b/y.x`), undefined, 'too long to be looked at')
})

test('an exact address comes before a pattern', async () => {
  const read = [
    resource({ uri: 'a://{x}', name: 'any', read: ({ x }) => `any ${x}` }),
    resource({ uri: 'a://one', name: 'one', read: () => 'one' }),
  ]
  assert.deepEqual(await readOwn(read, 'a://one'), [{ type: 'text', text: 'one', attached: true }])
  assert.deepEqual(await readOwn(read, 'a://two'), [{ type: 'text', text: 'any two', attached: true }])
  await assert.rejects(readOwn(read, 'b://two'), { code: 'not_found' })
})

test('bytes are a file, and a picture is a picture', async () => {
  const bytes = Buffer.from('x')
  const file = resource({ uri: 'a://f.bin', name: 'f', read: () => bytes })
  const picture = resource({ uri: 'a://p.png', name: 'p', mediaType: 'image/png', read: () => bytes })
  assert.deepEqual(await readOwn([file, picture], 'a://f.bin'), [
    {
      type: 'file',
      url: 'data:application/octet-stream;base64,eA==',
      mediaType: 'application/octet-stream',
      name: 'f.bin',
    },
  ])
  assert.equal((await readOwn([file, picture], 'a://p.png'))[0]?.type, 'image')
})

test('a prompt gets its values, and says which are missing', async () => {
  const hello = prompt({
    name: 'hello',
    arguments: [{ name: 'who', required: true }, { name: 'tone' }],
    get: ({ who, tone = 'kind' }) => `Hello ${who}, ${tone}.`,
  })
  const [message] = await getOwn([hello], 'hello', { who: 'Ada' })
  assert.deepEqual(message?.parts, [{ type: 'text', text: 'Hello Ada, kind.' }])
  await assert.rejects(getOwn([hello], 'hello', {}), /needs who/)
  await assert.rejects(getOwn([hello], 'toString', {}), { code: 'not_found' })
})

test('what cannot be used is refused when it is made', () => {
  const read = (): string => ''
  for (const uri of ['', 'none', 'a://{x}{y}', 'a://{x', 'a://{?q}', 'a://{+x}'])
    assert.throws(() => resource({ uri, name: 'x', read }), { code: 'config_invalid' }, uri)
  for (const name of ['', 'a b', 'a__b', 'x'.repeat(65)])
    assert.throws(() => prompt({ name, get: read }), { code: 'config_invalid' }, name)
  const twice = [{ name: 'a' }, { name: 'a' }]
  assert.throws(() => prompt({ name: 'p', arguments: twice, get: read }), /the same name/)
})
