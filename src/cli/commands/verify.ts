// Checks, without a network, that something is as it was recorded: a session of the data folder, an export, a receipt, a sealed file.
import { readFileSync } from 'node:fs'
import { withStore } from '../../data/data-place.ts'
import type { Store } from '../../engine/index.ts'
import type { Receipt } from '../../language/make-receipt.ts'
import { printable } from '../../lib/text/index.ts'
import { plural } from '../../lib/text/plural.ts'
import { KeptOutputs } from '../../proof/kept-outputs.ts'
import type { TrustedKeys } from '../../proof/trust.ts'
import {
  firstFlaw,
  type VerifiedFile,
  verifyFile,
  verifyReceiptText,
  withOutputs,
} from '../../proof/verify-file.ts'
import { LogVerifier, type VerifiedLog } from '../../proof/verify-log.ts'
import { UnreadableEvents } from '../../stores/encoded-log.ts'
import { type CliCommand, textValues, UsageError, type Values } from '../command.ts'
import { type Progress, withProgress } from '../progress.ts'
import { configOption, dataOption, isFile, noSuchSession, sessionPlace } from '../setup.ts'
import { storedPages, trustedKeys } from '../signed-log.ts'

export const command: CliCommand = {
  name: 'verify',
  usage: '<session | file> [--key <file | name>]… [--receipt <file>]…',
  about: `Says whether a session, an export, a receipt or a sealed file is as the server recorded it, and names the first event that is not.
It needs no network. Exit code 0: it is; 1: it is not, or a session in it has no signature.
A signature proves as much as its key is trusted. Without --key these are the keys of the data folder.`,
  options: {
    key: {
      type: 'string',
      short: 'k',
      many: true,
      value: '<file | name>',
      help: 'The keys to trust: what the server shows at /.well-known/turnwire-receipts.json, or the name of one ("kid"). More than one --key adds keys',
    },
    receipt: {
      type: 'string',
      many: true,
      value: '<file>',
      help: 'A receipt that you kept: its call has to be in the session, so that one that was cut off or told anew is found',
    },
    data: dataOption,
    config: configOption,
    json: { type: 'boolean', help: 'Print JSON' },
  },
  words: 1,
  async run({ values, words: [what] }) {
    if (what === undefined) throw new UsageError('Say what to check: turnwire verify <session | file>')
    const trusted = await trustedKeys(values)
    const receipts = keptReceipts(values, trusted)
    const found = await withProgress<VerifiedFile | VerifiedLog>('Checking', 'events', async progress =>
      isFile(what)
        ? verifyFile(what, trusted, { step: done => progress.step(done), receipts })
        : verifySession(await sessionPlace(values), what, { trusted, receipts }, progress),
    )
    const sessions = 'kind' in found ? ('sessions' in found ? found.sessions : []) : [found]
    const flaw =
      ('kind' in found ? firstFlaw(found) : found.broken?.why) ?? missingSession(receipts, sessions)
    const areSigned = sessions.length > 0 && sessions.every(({ signedTo }) => signedTo > 0)
    const isProved = flaw === undefined && (areSigned || isReceiptFile(found))
    if (values['json'] === true) process.stdout.write(`${JSON.stringify({ proved: isProved, ...found })}\n`)
    else process.stdout.write(isReceiptFile(found) ? receiptText(found, flaw) : sessionsText(sessions, flaw))
    return isProved ? 0 : 1
  },
}

/** Throws if one of them proves nothing. */
function keptReceipts(values: Values, trusted: TrustedKeys): Receipt[] {
  return textValues(values, 'receipt').map(file => {
    const found = verifyReceiptText(readFileSync(file, 'utf8'), trusted)
    if (found.kind !== 'receipt' || found.damage !== undefined)
      throw new UsageError(`The receipt ${file} proves nothing: ${found.damage}.`)
    return found.receipt
  })
}

function missingSession(receipts: readonly Receipt[], sessions: readonly VerifiedLog[]): string | undefined {
  const there = new Set(sessions.map(({ session }) => session))
  const missing = receipts.find(({ call }) => !there.has(call.session))
  return missing && `the session ${missing.call.session}, of which there is a receipt, is not in it`
}

type ReceiptFile = Extract<VerifiedFile, { kind: 'receipt' }>

function isReceiptFile(found: VerifiedFile | VerifiedLog): found is ReceiptFile {
  return 'kind' in found && found.kind === 'receipt'
}

async function verifySession(
  place: string,
  id: string,
  { trusted, receipts }: { trusted: TrustedKeys; receipts: readonly Receipt[] },
  progress: Progress,
): Promise<VerifiedLog> {
  return withStore(place, async store => {
    const row = await store.row(id)
    if (!row) throw noSuchSession(id)
    const verifier = new LogVerifier(id, trusted, 'whole', receipts)
    const outputs = new KeptOutputs()
    try {
      for await (const page of storedPages(store, id))
        for (const item of page) {
          if (item.seq > row.head) continue
          if (!verifier.take(item)) return verifier.end()
          outputs.take(item)
          progress.step(item.seq, row.head)
        }
    } catch (error) {
      if (error instanceof UnreadableEvents) return verifier.stop()
      throw error
    }
    await readOutputs(store, id, outputs)
    return withOutputs(verifier.end(row.head), outputs)
  })
}

const outputBytes = 512 * 1024

async function readOutputs(store: Store, id: string, outputs: KeptOutputs): Promise<void> {
  for (const { name, inPieces } of outputs.names()) {
    const text = inPieces ? undefined : await store.blob(id, name)
    if (text !== undefined) outputs.text(name, text)
    for (let at = 0; inPieces; ) {
      const found = await store.blobRange(id, name, at, outputBytes)
      if (!found) break
      at += found.bytes.length
      const isLast = at >= found.size || found.bytes.length === 0
      outputs.piece(name, found.bytes, isLast)
      if (isLast) break
    }
  }
}

function receiptText({ receipt }: ReceiptFile, flaw: string | undefined): string {
  const { call, signed } = receipt
  if (flaw !== undefined) return `BROKEN: ${printable(flaw, 500)}.\n`
  const { verdict, by, votes, rule, policy, editedBy } = call.decision
  const after = votes === undefined ? '' : ` after ${votes.map(vote => vote.by).join(', ')}`
  const version = policy === undefined ? '' : ` of the rules ${policy}`
  const edit = editedBy === undefined ? '' : `, with arguments that ${editedBy} had changed`
  const who = `${verdict}${by === undefined ? '' : ` by ${by}`}${after}${rule === undefined ? '' : `, rule ${rule}${version}`}`
  return `The receipt is genuine: the call ${printable(call.call, 80)} of ${printable(call.tool, 128)} in session ${printable(call.session, 80)}, ${printable(who, 300)}${printable(edit, 200)}, ended ${call.outcome.kind} at ${new Date(call.at.settled).toISOString()}. Signed ${new Date(signed.at).toISOString()}.\n`
}

function sessionsText(sessions: readonly VerifiedLog[], flaw: string | undefined): string {
  if (flaw !== undefined) return `BROKEN: ${printable(flaw, 500)}.\n`
  if (sessions.length === 0) return 'There is no session in it.\n'
  return sessions.map(sessionText).join('')
}

function sessionText(log: VerifiedLog): string {
  const { session, events, signedTo, unsigned, calls, removed, readBack, outputs = 0, keys } = log
  const name = printable(session, 80)
  if (signedTo === 0)
    return `${name}: ${events} events, none of them signed. Nothing proves that they are as they were recorded.\n`
  const kept = outputs === 0 ? '' : ` and ${plural(outputs, 'output')} kept beside the log`
  const left = removed === 0 ? '' : ` ${removed} were left out, and their digests fit.`
  const open =
    unsigned === 0
      ? ''
      : ` Nothing proves the last ${unsigned}: they are not signed yet. A log is signed when its turn is over.`
  const late =
    readBack === 0
      ? ''
      : ` ${readBack} of them had been read back from the store when they were signed: nothing shows a change before that.`
  return `${name}: events 1 to ${signedTo} of ${events} are as they were recorded, with ${plural(calls, 'settled call')}${kept}.${left}${late}${open} Signed with ${keys.join(', ')}.\n`
}
