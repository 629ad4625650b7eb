// Makes the receipt of one call from a session's log: what it says, and the proof that this is what was signed. It shows nothing of
// other calls but hashes.
import { inclusionProof } from '../lib/merkle/index.ts'
import type { Recorded } from './events.ts'
import type { LogSigned } from './log-signed.ts'
import { type CallReceipt, ReceiptFold, type ReceiptSalts, type SettledReceipt } from './receipt-calls.ts'
import { digestEvent, digestForm, readWay, receiptLeaf, Salts, signedForm } from './receipts.ts'

/** `proof`: the place of the call among those that were signed with it, and the hashes that lead to the root. */
export type Receipt = {
  turnwire: 'receipt'
  version: 1
  call: CallReceipt
  proof: { index: number; path: string[] }
  /** Without the source of the salts. */
  signed: LogSigned
  /**
   * Not signed. Only in a receipt for someone who is to compare arguments and outcome with their hashes: such a reader can guess
   * them too.
   */
  salts?: ReceiptSalts
}

/** `pages`: the log from its first event on. Undefined: the call is not settled, or its turn is not signed. */
export async function findReceipt(
  session: string,
  pages: AsyncIterable<readonly Recorded[]>,
  callId: string,
  withSalts = false,
): Promise<Receipt | undefined> {
  let held: Recorded[] = []
  let settled = 0
  let policy: string | undefined
  for await (const page of pages)
    for (const recorded of page) {
      const { seq, event } = recorded
      held.push(recorded)
      if (event.type === 'call.settled' && event.callId === callId) settled = seq
      if (event.type !== 'log.signed') continue
      if (settled >= event.from && settled <= event.to)
        return makeReceipts(session, event, held, policy, withSalts).find(({ call }) => call.call === callId)
      policy = event.policy
      held = held.filter(later => later.seq > event.to)
    }
  return undefined
}

/**
 * The receipts of all calls that a signature covers. `log`: has the events that it covers. `policy`: of the signature before it.
 */
export function makeReceipts(
  session: string,
  signed: LogSigned,
  log: readonly Recorded[],
  policy: string | undefined,
  withSalts = false,
): Receipt[] {
  const calls = foldCalls(new ReceiptFold(session, readWay(signed), policy), signed, log)
  const leaves = calls.map(({ call }) => receiptLeaf(call))
  const form = signedForm(signed)
  return calls.map(({ call, salts }, index) => ({
    turnwire: 'receipt',
    version: 1,
    call,
    proof: { index, path: inclusionProof(leaves, index) },
    signed: form,
    ...(withSalts && { salts }),
  }))
}

function foldCalls(fold: ReceiptFold, signed: LogSigned, log: readonly Recorded[]): SettledReceipt[] {
  const { from, to, salt } = signed
  const salts = new Salts(salt)
  return log.flatMap(({ seq, event }) => {
    if (seq < from || seq > to) return []
    const own = salts.at(seq - from)
    const form = digestForm(event, salts, readWay(signed))
    // Only the digest of an outcome is in a receipt.
    const digest = form.type === 'call.settled' ? digestEvent(form, own) : ''
    return fold.take(seq, form, digest, own) ?? []
  })
}
