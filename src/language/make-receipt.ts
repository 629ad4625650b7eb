// Makes the receipt of one call from a session's log: what it says, and the proof that this is what was signed. It shows nothing of
// other calls but hashes.
import { inclusionProof } from '../lib/merkle/index.ts'
import type { Recorded } from './events.ts'
import type { LogSigned } from './log-signed.ts'
import { type CallReceipt, ReceiptFold } from './receipt-calls.ts'
import { digestEvent, receiptLeaf, Salts, signedForm } from './receipts.ts'

/** `proof`: the place of the call among those that were signed with it, and the hashes that lead to the root. */
export type Receipt = {
  turnwire: 'receipt'
  version: 1
  call: CallReceipt
  proof: { index: number; path: string[] }
  /** Without the source of the salts. */
  signed: LogSigned
}

/** `pages`: the log from its first event on. Undefined: the call is not settled, or its turn is not signed. */
export async function findReceipt(
  session: string,
  pages: AsyncIterable<readonly Recorded[]>,
  callId: string,
): Promise<Receipt | undefined> {
  let held: Recorded[] = []
  let settled = 0
  for await (const page of pages)
    for (const recorded of page) {
      const { seq, event } = recorded
      held.push(recorded)
      if (event.type === 'call.settled' && event.callId === callId) settled = seq
      if (event.type !== 'log.signed') continue
      if (settled >= event.from && settled <= event.to)
        return makeReceipts(session, event, held).find(({ call }) => call.call === callId)
      held = held.filter(later => later.seq > event.to)
    }
  return undefined
}

/** The receipts of all calls that a signature covers. `log`: has the events that it covers. */
export function makeReceipts(session: string, signed: LogSigned, log: readonly Recorded[]): Receipt[] {
  const calls = foldCalls(session, signed, log)
  const leaves = calls.map(receiptLeaf)
  const form = signedForm(signed)
  return calls.map((call, index) => ({
    turnwire: 'receipt',
    version: 1,
    call,
    proof: { index, path: inclusionProof(leaves, index) },
    signed: form,
  }))
}

function foldCalls(session: string, { from, to, salt }: LogSigned, log: readonly Recorded[]): CallReceipt[] {
  const salts = new Salts(salt)
  const fold = new ReceiptFold(session)
  return log.flatMap(({ seq, event }) => {
    if (seq < from || seq > to) return []
    const own = salts.at(seq - from)
    // Only the digest of an outcome is in a receipt. Nothing in such an event is sealed.
    const digest = event.type === 'call.settled' ? digestEvent(event, own) : ''
    return fold.take(seq, event, digest, own) ?? []
  })
}
