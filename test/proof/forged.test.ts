// Forgeries by someone without the key who knows the formats: each is made with care, and each is found.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { openReceiptKeys } from '../../src/data/receipt-keys.ts'
import { runCommand } from '../../src/engine/turn/run-command.ts'
import type { Event, Recorded } from '../../src/language/events.ts'
import type { Receipt } from '../../src/language/make-receipt.ts'
import {
  chainHead,
  digestEvent,
  digestForm,
  Salts,
  signedForm,
  textToSign,
} from '../../src/language/receipts.ts'
import { deriveSigningKey, makeSigner, thumbprint } from '../../src/lib/signing/ed25519.ts'
import type { Script } from '../../src/models/scripted/index.ts'
import { KeptOutputs } from '../../src/proof/kept-outputs.ts'
import { type Sealed, sealLog } from '../../src/proof/sealed-form.ts'
import { pageHash, sealedPage } from '../../src/proof/sealed-page.ts'
import { namedKeys, SigningKeys, type TrustedKeys } from '../../src/proof/trust.ts'
import { firstFlaw, verifyFile } from '../../src/proof/verify-file.ts'
import { LogVerifier } from '../../src/proof/verify-log.ts'
import { tool } from '../../src/tools/index.ts'
import { begin, makeRig, say, stopAll } from '../engine/rig.ts'
import { exportText, hashAnew, withSealed } from './forge.ts'
import { keys, play, playTurn, trusted } from './rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'forged-'))
after(async () => {
  await stopAll()
  rmSync(folder, { recursive: true, force: true })
})

/** What the check of a file with this text finds. */
async function flawOf(text: string, by: TrustedKeys = trusted): Promise<string | undefined> {
  const file = join(folder, 'file')
  writeFileSync(file, text)
  return verifyFile(file, by).then(firstFlaw, (error: Error) => error.message)
}

suite('an export', () => {
  /** Each line as its author wrote it, or as `change` says. */
  async function forge(change: (line: string) => string): Promise<string | undefined> {
    const { rig } = await play()
    const text = await exportText(rig.store)
    assert.equal(await flawOf(hashAnew(text)), undefined)
    const forged = text.split('\n').map(change).join('\n')
    assert.notEqual(forged, text)
    return flawOf(hashAnew(forged))
  }

  test('with a forged event and the digest of the true one beside it is refused', async () => {
    const { rig, log } = await play()
    const signed = log.at(-1)?.event
    assert(signed?.type === 'log.signed')
    const salts = new Salts(signed.salt)
    const forged = (await exportText(rig.store)).split('\n').map(line => {
      if (!line.includes('"approval.decided"')) return line
      const { seq, event } = JSON.parse(line) as Recorded
      const digest = digestEvent(digestForm(event, salts, 2), salts.at(seq - 1))
      return JSON.stringify({ seq, event: { ...event, by: 'nobody' }, digest })
    })
    assert(forged.some(line => line.includes('nobody')))
    assert.match((await flawOf(hashAnew(forged.join('\n')))) ?? '', /members that no line of an export has/)
  })

  test('with a member that no reader knows, or one that stands in it twice, is refused', async () => {
    const add = (more: string) => (line: string) =>
      line.includes('"turn.started"') ? `${line.slice(0, -1)},${more}}` : line
    assert.match((await forge(add('"note":1'))) ?? '', /members that no line/)
    const twice = (line: string) => line.replace('"by":"maria"', '"by":"nobody","by":"maria"')
    assert.match((await forge(twice)) ?? '', /not as an export writes it/)
  })

  test('with a session that is in it twice, the first time without its end, is refused', async () => {
    const { rig, log } = await play({}, 2)
    const text = await exportText(rig.store)
    const firstSigned = log.findIndex(({ event }) => event.type === 'log.signed')
    const lines = text.split('\n')
    const start = lines.findIndex(line => line.startsWith('{"session"'))
    const end = lines.findIndex(line => line.startsWith('{"end"'))
    const short = lines.slice(start, start + 1 + firstSigned + 1)
    short[0] = short[0]!.replace(/"events":\d+/, `"events":${firstSigned + 1}`)
    const forged = lines
      .toSpliced(start, 0, ...short, lines[end]!)
      .map(line => line.replace('"sessions":1', '"sessions":2'))
    assert.match((await flawOf(hashAnew(forged.join('\n')))) ?? '', /in the file twice/)
  })
})

test('a log that was cut off after a signature, or told anew, is found by a receipt that is kept elsewhere', async () => {
  const { rig, session, log } = await play({}, 2)
  const receipts = sealLog(session.id, log).receipts
  await playTurn(session)
  await runCommand(session, { do: 'sign' })
  const longer = await rig.store.read(session.id)
  const later = sealLog(session.id, longer).receipts
  const flaw = (items: Recorded[], kept: Receipt[]) => {
    const verifier = new LogVerifier(session.id, trusted, 'whole', kept)
    for (const item of items) verifier.take(item)
    return verifier.end(items.length).broken?.why
  }
  assert.equal(flaw(longer, later), undefined)
  assert.equal(flaw(log, receipts), undefined)
  assert.equal(flaw(log, []), undefined)
  assert.match(flaw(log, later) ?? '', /kept elsewhere .* signed otherwise, or the log was cut off/)
})

suite('an output that is kept beside the log', () => {
  const long = 'a line of a long output\n'.repeat(6_000)
  const input = { type: 'object' } as const
  const tools = [
    tool({
      name: 'stream',
      description: 'x',
      input,
      trust: 'trusted',
      async *run() {
        yield long
      },
    }),
    tool({ name: 'cut', description: 'x', input, trust: 'trusted', run: () => long }),
  ]
  const script: Script = ({ history }) =>
    history.at(-1)?.role === 'user'
      ? {
          calls: [
            { name: 'stream', input: {} },
            { name: 'cut', input: {} },
          ],
        }
      : { text: 'Done.' }

  async function exportLong(): Promise<string[]> {
    const rig = makeRig({ tools, script, receipts: keys })
    const session = await begin(rig)
    await say(session, 'go')
    await runCommand(session, { do: 'sign' })
    const text = await exportText(rig.store)
    assert.equal(await flawOf(text), undefined)
    return text.split('\n')
  }
  const forge = (lines: readonly string[]) => flawOf(hashAnew(lines.join('\n')))

  test('is found when it is changed', async () => {
    const lines = await exportLong()
    const piece = Buffer.from(long.replace('line', 'lime')).toString('base64')
    const streamed = lines.map(line => line.replace(/"piece":"[^"]*"/, () => `"piece":"${piece}"`))
    assert.match((await forge(streamed)) ?? '', /kept beside the log for event \d+ is not as it was recorded/)
    const cut = lines.map(line => (line.startsWith('{"blob"') ? line.replace('a line', 'a lime') : line))
    assert.match((await forge(cut)) ?? '', /kept beside the log for event \d+ is not as it was recorded/)
  })

  test('of a call in a session that works for this one is kept there, and is not missed here', () => {
    const outputs = new KeptOutputs()
    const kept = { blob: 'call_there.output', bytes: 1, sha256: '' }
    const cut = { blob: 'call_there.0123456789abcdef', bytes: 1 }
    const from = { source: 'tool', tool: 'stream' } as const
    const outcome = { kind: 'ok', from, kept, cut } as const
    const at = { v: 1, at: 1 } as const
    const events: Event[] = [
      { ...at, type: 'call.settled', callId: 'call_that_mirrors', outcome: { ...outcome, parts: [] } },
      {
        ...at,
        type: 'call.reconciled',
        callId: 'call_there',
        tool: 'stream',
        by: 'ana',
        found: 'ran',
        outcome: { ...outcome, parts: [] },
        session: 'sess_there',
      },
    ]
    for (const [index, event] of events.entries()) outputs.take({ seq: index + 1, event })
    assert.deepEqual([outputs.count, outputs.end()], [0, undefined])
  })

  test('is found when it is missing, or stands there again with other content', async () => {
    const lines = await exportLong()
    const isOutput = (line: string) => line.startsWith('{"blob"')
    const places = [...lines.keys()].filter(place => isOutput(lines[place]!))
    assert.equal(places.length, 2)
    for (const place of places) {
      assert.match((await forge(lines.toSpliced(place, 1))) ?? '', /for event \d+ is missing/)
      const other = lines[place]!.replace('a line', 'a lime').replace(/"piece":"..../, '"piece":"AAAA')
      assert.notEqual(other, lines[place])
      assert.match((await forge(lines.toSpliced(place + 1, 0, other))) ?? '', /not as it was recorded/)
    }
  })
})

suite('a sealed file', () => {
  async function sealedFile(
    what?: (log: Recorded[]) => Recorded[],
  ): Promise<{ html: string; session: string }> {
    const { session, log } = await play({}, 2)
    const html = sealedPage(sealLog(session.id, what?.(log) ?? log))
    assert.equal(await flawOf(html), undefined)
    return { html, session: session.id }
  }
  const forged: Event = {
    v: 1,
    at: 1,
    type: 'approval.decided',
    callId: 'c',
    granted: true,
    by: 'nobody',
    argsHash: '',
  }

  test('with an event after the last signed one is refused', async () => {
    const { html } = await sealedFile()
    const add = (item: Sealed['log'][number]) => (sealed: Sealed) => {
      sealed.log.push(item)
      sealed.events += 1
    }
    const seq = (JSON.parse(/"events":(\d+)/.exec(html)![1]!) as number) + 1
    for (const item of [
      { seq, event: forged, salt: '' },
      { seq, digest: 'invented' },
    ])
      assert.match((await flawOf(withSealed(html, add(item)))) ?? '', /is not signed/)
    // The place of an event that nothing proves is empty, and shows nothing.
    assert.equal(await flawOf(withSealed(html, add({ seq, digest: '' }))), undefined)
  })

  test('with an event in the place of one that is not signed yet is refused', async () => {
    const { session, log } = await play()
    const signed = log.at(-1)!
    // A turn began before the signature of the one before it was recorded, and both are signed for this place.
    const { html } = await sealedBefore(session.id, log.slice(0, -1), signed)
    assert.equal(await flawOf(html), undefined)
    const place = log.length
    const fill = (sealed: Sealed): void => {
      assert.deepEqual(sealed.log[place - 1], { seq: place, digest: '' })
      sealed.log[place - 1] = { seq: place, event: forged, salt: '' }
    }
    assert.match((await flawOf(withSealed(html, fill))) ?? '', new RegExp(`event ${place} is not signed`))
  })

  test('with a receipt that is forged, dropped, doubled, moved or of another session is refused', async () => {
    const { html } = await sealedFile()
    const other = sealLog(...(await otherLog()))
    const changes: [string, (sealed: Sealed) => void][] = [
      ['forged beside the true one', ({ receipts }) => void receipts.unshift(claimed(receipts[0]!))],
      [
        'forged in the place of the next',
        ({ receipts }) => void receipts.splice(0, 2, claimed(receipts[0]!), receipts[0]!),
      ],
      ['dropped', ({ receipts }) => void receipts.pop()],
      ['all dropped', ({ receipts }) => void receipts.splice(0)],
      ['doubled', ({ receipts }) => void receipts.splice(1, 1, receipts[0]!)],
      ['moved', ({ receipts }) => void receipts.reverse()],
      ['of another session', ({ receipts }) => void receipts.splice(0, 1, other.receipts[0]!)],
      ['with a note in its proof', ({ receipts }) => void Object.assign(receipts[0]!.proof, { note: 1 })],
    ]
    for (const [name, change] of changes)
      assert.match((await flawOf(withSealed(html, change))) ?? '', /receipt/, name)
  })

  const claimed = (receipt: Sealed['receipts'][number]): Sealed['receipts'][number] => ({
    ...receipt,
    call: { ...receipt.call, decision: { verdict: 'approved', by: 'the board' } },
  })

  async function otherLog(): Promise<[string, Recorded[]]> {
    const { session, log } = await play({}, 2)
    return [session.id, log]
  }

  test('with another program, other words, another policy or another form of the log is refused', async () => {
    const { html } = await sealedFile()
    for (const [from, to] of [
      ["'Not checked') : 'Unchanged'", "'Unchanged') : 'Unchanged'"],
      ['<h1>Sealed session</h1>', '<h1>Approved by the board</h1>'],
      ["default-src 'none'", 'default-src *'],
      ['</main>', '<p>maria allowed all of it</p></main>'],
      ['"version":1,', '"version": 1,'],
      ['"version":1,', '"version":2,"version":1,'],
      ['"version":1,', '"version":1,"note":"trust me",'],
    ] as const) {
      assert(html.includes(from), from)
      assert.match((await flawOf(html.replace(from, to))) ?? '', /page around the log|not of the form/, to)
    }
  })

  test('is one only if it begins as one', async () => {
    const { html } = await sealedFile()
    for (const before of ['{}\n', '<!-- checked -->\n', '\n', '\uFEFF'])
      assert.match((await flawOf(before + html)) ?? '', /is no export|no file of turnwire export/)
  })

  test('of the page as it is: whoever changes the page keeps the hash of what was released before', () => {
    const empty: Sealed = { turnwire: 'sealed', version: 1, session: 's', events: 0, log: [], receipts: [] }
    const html = sealedPage(empty)
    const log = html.slice(html.indexOf('<script type="application/json"'), html.indexOf('</script>') + 9)
    assert.equal(pageHash(html, log), 'abotK_egA1EVIiFRFPrDNDnVeNqehsPqaVC7KTT1TQo')
  })
})

/** A log whose last signature has its place one later: between it and what it signs stands an event that is not signed. */
async function sealedBefore(
  id: string,
  log: Recorded[],
  { event, seq }: Recorded,
): Promise<{ html: string }> {
  assert(event.type === 'log.signed')
  const later = resign(id, { ...event, seq: seq + 1 }, keys.current().sign)
  const between: Event = { v: 1, at: event.at, type: 'control.taken', by: 'ana' }
  return { html: sealedPage(sealLog(id, [...log, { seq, event: between }, { seq: seq + 1, event: later }])) }
}

type Signed = Extract<Event, { type: 'log.signed' }>

function resign(id: string, signed: Signed, sign: (text: string) => string): Signed {
  return { ...signed, signature: sign(textToSign(id, signedForm(signed))) }
}

suite('a key that is retired', () => {
  const old = deriveSigningKey('the-key-that-was-stolen-after-its-retirement', 'test')
  const oldSign = makeSigner(old)
  /** A turn that the newer key signed, and an event of a thief behind it, so long after the retirement of the key that he has. */
  async function flawAfter(retiredFor: number): Promise<string | undefined> {
    const { session, log } = await play({}, 1)
    const first = log.at(-1)?.event
    assert(first?.type === 'log.signed')
    const retired = first.at + 1_000
    const at = retired + retiredFor
    const more: Event = { v: 1, at, type: 'control.taken', by: 'nobody' }
    const from = log.length
    const salts = new Salts('thief')
    const digests = [log.at(-1)!.event, more].map((event, index) =>
      digestEvent(digestForm(event, salts, 2), salts.at(index)),
    )
    const { marks: _, ...rest } = first
    const forged: Signed = {
      ...rest,
      from,
      to: from + 1,
      seq: from + 2,
      previous: first.head,
      head: chainHead(first.head, digests),
      calls: { count: 0, root: '47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU' },
      salt: 'thief',
      key: old.x,
    }
    const added = [more, resign(session.id, forged, oldSign)]
    const verifier = new LogVerifier(
      session.id,
      new Map([
        [thumbprint(old.x), { created: 1_000, retired }],
        [thumbprint(keys.current().key), { created: 2_000 }],
      ]),
    )
    for (const item of [...log, ...added.map((event, index) => ({ seq: from + 1 + index, event }))])
      verifier.take(item)
    return verifier.end().broken?.why
  }

  test('signs nothing that comes after the signature of a newer key, whatever the date', async () => {
    assert.match((await flawAfter(-500)) ?? '', /retired, after a newer key had signed/)
  })

  test('signs no event that is dated after its retirement, whatever the date of the signature', async () => {
    assert.match((await flawAfter(1)) ?? '', /dated after the key .* was retired/)
  })
})

test('several keys are trusted at once, and one that is retired in a file stays so', () => {
  const file = join(folder, 'keys.json')
  const [key] = keys.published()
  writeFileSync(file, JSON.stringify({ keys: [{ ...key, retired: 5 }] }))
  const other = openReceiptKeys({
    folder: undefined,
    given: 'another-secret-that-signs-the-logs-of-tests',
  }).published()
  const named = namedKeys([other[0]!.kid, file, key!.kid])
  assert.deepEqual(
    [...named],
    [
      [other[0]!.kid, { list: 0 }],
      [key!.kid, { retired: 5, list: 1 }],
    ],
  )
})

test('keys of two installations may sign one log in turns, although one of them is retired later', () => {
  const [a, b] = ['a', 'b'].map(name => {
    const { x } = deriveSigningKey(`the-key-of-installation-${name}-for-tests`, 'test')
    return { kty: 'OKP', crv: 'Ed25519', x, kid: thumbprint(x), use: 'sig', alg: 'EdDSA' } as const
  })
  const file = (name: string, list: object[]) => {
    const path = join(folder, name)
    writeFileSync(path, JSON.stringify({ keys: list }))
    return path
  }
  const [old, newer] = [
    { ...a!, created: 10, retired: 100 },
    { ...b!, created: 20 },
  ]
  const flaw = (...given: string[]) => {
    const signing = new SigningKeys(namedKeys(given))
    return [old.x, newer.x, old.x].map(x => signing.distrust(x, 50)).find(why => why !== undefined)
  }
  assert.equal(flaw(file('one.json', [old]), file('other.json', [newer])), undefined)
  // Of one installation the older key signs nothing any more, also where its files are of different days.
  assert.match(flaw(file('both.json', [old, newer])) ?? '', /after a newer key had signed/)
  const before = file('before.json', [{ ...a!, created: 10 }])
  for (const given of [
    [before, join(folder, 'both.json')],
    [join(folder, 'both.json'), before],
  ])
    assert.match(flaw(...given) ?? '', /after a newer key had signed/)
})

test('a receipt in which a member stands twice is refused', async () => {
  const { session, log } = await play()
  const [receipt] = sealLog(session.id, log).receipts
  const text = JSON.stringify(receipt)
  assert.equal(await flawOf(text), undefined)
  const forged = text.replace('"call":', '"call":{"tool":"pay"},"call":')
  assert.match((await flawOf(forged)) ?? '', /stands twice/)
})
