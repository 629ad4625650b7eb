// Outputs that are too large for the model and for memory: streamed to the store, shown by their ends, read with a tool.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { after, describe, test } from 'node:test'
import type { Model, Store, Tool } from '../../src/engine/index.ts'
import type { Outcome } from '../../src/language/calls.ts'
import { defaultLimits } from '../../src/policy/index.ts'
import { memoryStore } from '../../src/stores/memory.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, owner, type Rig, type RigOptions, say, stopAll } from './rig.ts'

after(stopAll)

const anything = { type: 'object' } as const
const line = (number: number): string => `line ${number} of the long output\n`

async function* lines(count: number): AsyncGenerator<string> {
  for (let first = 0; first < count; first += 500)
    yield Array.from({ length: Math.min(500, count - first) }, (_, index) => line(first + index)).join('')
}

function long(run: () => unknown, more: object = {}) {
  return tool({ name: 'long', description: 'd', input: anything, trust: 'trusted', run, ...more })
}

async function played(
  run: () => unknown,
  options: RigOptions = {},
  more: object = {},
): Promise<{ outcome: Outcome; rig: Rig; id: string; callId: string }> {
  const rig = makeRig({
    tools: [long(run, more)],
    script: [{ calls: [{ name: 'long' }] }, { text: 'ok' }],
    ...options,
  })
  const session = await begin(rig)
  await say(session, 'go')
  const entry = session.state.entries.find(each => each.role === 'tool')
  assert.ok(entry)
  const [{ outcome, callId } = assert.fail()] = entry.results
  return { outcome, rig, id: session.id, callId }
}

async function wholeOf({ local }: Rig, session: string, blob: string): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for (let at = 0; ; ) {
    const { bytes, size } = await local.blob(
      { owner, session },
      { get: 'bytes', name: blob, from: at, length: 100_000 },
    )
    parts.push(bytes)
    at += bytes.length
    if (at >= size) return Buffer.concat(parts)
  }
}

const textOf = ({ parts }: Outcome): string =>
  parts.map(part => (part.type === 'text' ? part.text : '')).join('')

describe('a stream', () => {
  test('that is short is the text of the result, from generators, Node and web streams', async () => {
    const sources = [
      () => lines(2),
      () => Readable.from([Buffer.from(line(0) + line(1))]),
      () => new Blob([line(0), line(1)]).stream(),
      () => ({ parts: [], stream: lines(2) }),
      async () => lines(2),
    ]
    for (const source of sources) {
      const { outcome } = await played(source)
      assert.deepEqual([outcome.kind, textOf(outcome)], ['ok', line(0) + line(1)])
      assert.equal(outcome.kept, undefined)
    }
  })

  test('that is long is kept whole, with its digest, and shown by its two ends', async () => {
    const whole = Array.from({ length: 100_000 }, (_, number) => line(number)).join('')
    const { outcome, rig, id } = await played(() => lines(100_000))
    const { kept } = outcome
    assert.ok(kept)
    assert.deepEqual(
      [outcome.kind, kept.bytes, kept.sha256],
      ['ok', whole.length, createHash('sha256').update(whole).digest('hex')],
    )
    const shown = textOf(outcome)
    assert.ok(shown.length <= 64 * 1024, String(shown.length))
    assert.ok(shown.startsWith(line(0)) && shown.endsWith(line(99_999)))
    assert.match(
      shown,
      new RegExp(`bytes left out here.*read_output and the id ${kept.blob.replace('.output', '')}`),
    )
    assert.equal((await wholeOf(rig, id, kept.blob)).toString(), whole)
    assert.equal((await rig.store.row(id))?.blobBytes, whole.length)
    await assert.rejects(
      rig.local.blob({ owner: 'eve', session: id }, { get: 'bytes', name: kept.blob, from: 0, length: 1 }),
      {
        code: 'not_found',
      },
    )
    await assert.rejects(
      rig.local.blob({ owner, session: id }, { get: 'bytes', name: kept.blob, from: -1, length: 1 }),
      {
        code: 'bad_request',
      },
    )
    await rig.local.remove({ owner, session: id })
    assert.equal(await rig.store.blobRange(id, kept.blob, 0, 1), undefined)
  })

  test('of many tiny pieces, with characters of several bytes, is as whole', async () => {
    const text = 'äöü€🜁'.repeat(20_000)
    const bytes = Buffer.from(text)
    async function* tiny(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7)
    }
    const { outcome, rig, id } = await played(tiny)
    assert.equal((await wholeOf(rig, id, outcome.kept!.blob)).toString(), text)
    assert.doesNotMatch(textOf(outcome), /\ufffd/)
  })

  test('of bytes that are no text is kept for the application, and the model is told so', async () => {
    const bytes = Buffer.from(Uint8Array.from({ length: 700_000 }, (_, index) => index % 251))
    const { outcome, rig, id } = await played(() => Readable.from([bytes]))
    assert.match(textOf(outcome), /^\[700000 bytes that are not text/)
    assert.equal(outcome.kept?.binary, true)
    assert.ok((await wholeOf(rig, id, outcome.kept.blob)).equals(bytes))
  })

  test('is redacted before it is written, also where a secret is cut between two pieces', async () => {
    const secret = 'sk-abcdefghijklmnopqrstuvwx'
    async function* leaking(): AsyncGenerator<string> {
      yield* lines(5000)
      yield secret.slice(0, 9)
      yield `${secret.slice(9)}\n`
      yield* lines(5000)
    }
    const { outcome, rig, id } = await played(leaking, { gate: { redact: ['secrets'] } })
    const whole = (await wholeOf(rig, id, outcome.kept!.blob)).toString()
    assert.ok(!whole.includes(secret))
    assert.equal(whole.split('\n').length, 10_002)
  })

  test('that the tool breaks off is an error, and nothing of it is kept', async () => {
    async function* broken(): AsyncGenerator<string> {
      yield* lines(60_000)
      throw new Error('The disk went away.')
    }
    const { outcome, rig, id, callId } = await played(broken)
    assert.deepEqual([outcome.kind, outcome.kept], ['error', undefined])
    assert.match(textOf(outcome), /The disk went away/)
    assert.equal(await rig.store.blobRange(id, `${callId}.output`, 0, 1), undefined)
    assert.equal((await rig.store.row(id))?.blobBytes, 0)
  })

  test('that gives something else than text or bytes is an error', async () => {
    const { outcome } = await played(async function* () {
      yield 7
    })
    assert.equal(outcome.kind, 'error')
  })

  test('is ended at the deadline of its tool, and by a session that is full', async () => {
    let left = false
    async function* endless(): AsyncGenerator<string> {
      try {
        for (;;) {
          yield 'x'.repeat(100_000)
          await new Promise(resolve => setImmediate(resolve))
        }
      } finally {
        left = true
      }
    }
    const slow = await played(endless, {}, { timeoutMs: 50 })
    assert.equal(slow.outcome.kind, 'timeout')
    while (!left || (await slow.rig.store.row(slow.id))?.blobBytes !== 0)
      await new Promise(resolve => setImmediate(resolve))
    left = false
    const limits = { ...defaultLimits, sessionBytes: 3_000_000 }
    const full = await played(endless, { agent: { limits } })
    assert.equal(full.outcome.kind, 'error')
    assert.match(textOf(full.outcome), /limit of 3000000 bytes/)
    assert.equal(left, true)
    assert.equal((await full.rig.store.row(full.id))?.blobBytes, 0)
  })
})

describe('read_output', () => {
  async function readWith(
    input: (callId: string) => object,
    gate: RigOptions['gate'] = {},
    run: () => unknown = () => lines(100_000),
  ): Promise<Outcome> {
    let step = 0
    const model: Model = {
      id: 'reader',
      async respond({ history }) {
        step += 1
        if (step === 3) return { parts: [{ type: 'text', text: 'ok' }], stop: 'end' }
        const entry = history.findLast(each => each.role === 'tool')
        const [name, given] =
          entry?.role === 'tool' ? ['read_output', input(entry.results[0]!.callId)] : ['long', {}]
        const text = JSON.stringify(given)
        return { parts: [{ type: 'call', id: `c${step}`, name, form: 'json', text }], stop: 'calls' }
      },
    }
    const rig = makeRig({ tools: [long(run)], gate, model })
    const session = await begin(rig)
    assert.ok(!session.offer.byName.has('read_output'))
    await say(session, 'go')
    assert.ok(session.offer.declarations.some(({ name }) => name === 'read_output'))
    const entry = session.state.entries.findLast(each => each.role === 'tool')
    assert.ok(entry)
    return entry.results[0]!.outcome
  }

  test('gives any part of it, and says where to go on', async () => {
    const text = textOf(await readWith(id => ({ id, offset: 29, length: 29 })))
    assert.equal(
      text,
      `[bytes 29 to 58 of 2988890; go on at offset 58]\n${(line(0) + line(1) + line(2)).slice(29, 58)}`,
    )
    assert.match(textOf(await readWith(id => ({ id, offset: 2_988_880 }))), /, the end\]\nng output\n$/)
    assert.match(textOf(await readWith(id => ({ id, offset: 9_999_999 }))), /There is nothing at 9999999/)
  })

  test('finds a text wherever it is', async () => {
    const found = textOf(await readWith(id => ({ id, search: 'line 77777 ' })))
    assert.match(found, /^1 found, each with its offset\.\n\d+: line 77777 of the long output$/)
    assert.match(textOf(await readWith(id => ({ id, search: 'line 7777' }))), /^11 found/)
    assert.match(textOf(await readWith(id => ({ id, search: 'output' }))), /^20 found.*There may be more/)
    assert.match(textOf(await readWith(id => ({ id, search: 'nowhere' }))), /does not occur/)
  })

  test('reads the whole of a result that was no stream, also of several parts and of data', async () => {
    const text = Array.from({ length: 10_000 }, (_, number) => line(number)).join('')
    const half = text.length / 2
    const parts = [text.slice(0, half), text.slice(half)].map(each => ({ type: 'text' as const, text: each }))
    for (const run of [() => text, () => ({ parts }), () => ({ parts: [], structured: { text } })]) {
      const found = textOf(await readWith(id => ({ id, search: 'line 7777 ' }), {}, run))
      assert.match(found, /^1 found, each with its offset\.\n\d+: .*line 7777 of the long output/)
    }
    const excerpt = textOf(
      await readWith(
        id => ({ id, offset: 29, length: 29 }),
        {},
        () => text,
      ),
    )
    assert.equal(excerpt, `[bytes 29 to 58 of ${text.length}; go on at offset 58]\n${text.slice(29, 58)}`)
  })

  test('is named where a result was cut, and not offered for a result that a program got whole', async () => {
    const { outcome, callId } = await played(() => 'x'.repeat(100_000))
    assert.match(textOf(outcome), new RegExp(`with the tool read_output and the call id ${callId}\\.`))
    const base = tool({ name: 'outer', description: 'd', input: anything, trust: 'trusted', run: () => '' })
    const outer: Tool = {
      ...base,
      resumable: true,
      run: async (_, { nested }) => {
        const { outcome: inner } = await nested!.call('1', 'long', '{}')
        return { parts: [{ type: 'text', text: `${inner.kind} ${textOf(inner).length}` }] }
      },
    }
    const rig = makeRig({
      tools: [long(() => 'x'.repeat(100_000)), outer],
      script: [{ calls: [{ name: 'outer' }] }, { text: 'ok' }],
    })
    const session = await begin(rig)
    await say(session, 'go')
    assert.match(JSON.stringify(session.state.entries), /"ok 100000"/)
    assert.ok(!session.offer.byName.has('read_output'))
  })

  test('passes the gate: wrong arguments and rules of the policy count', async () => {
    assert.equal((await readWith(() => ({ id: 'call_none' }))).kind, 'invalid')
    assert.equal((await readWith(id => ({ id, length: 10_000_000 }))).kind, 'invalid')
    const denied = await readWith(id => ({ id }), { rules: [{ tool: 'read_output', then: 'deny' }] })
    assert.equal(denied.kind, 'denied')
  })

  test('is there after a restart, and an agent’s own tool of that name stays', async () => {
    const store: Store = memoryStore()
    const { rig, id } = await played(() => lines(100_000), { store })
    await rig.engine.stop(0)
    const again = makeRig({ store, tools: [long(() => lines(1))] })
    const session = await again.engine.open(owner, id)
    assert.ok(session.offer.byName.has('read_output'))
    const own = tool({ name: 'read_output', description: 'Own.', input: anything, run: () => 'own' })
    const other = makeRig({
      store: memoryStore(),
      tools: [own, long(() => lines(100_000))],
      script: [{ calls: [{ name: 'long' }] }, { text: 'ok' }],
    })
    const theirs = await begin(other)
    await say(theirs, 'go')
    assert.equal(theirs.offer.byName.get('read_output')?.tool.description, 'Own.')
  })
})
