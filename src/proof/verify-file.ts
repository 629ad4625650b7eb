// Checks a file without a server and without a network: an export, a receipt or a sealed session.
import { createReadStream, readFileSync } from 'node:fs'
import { checkFile, DamagedFile, damaged, readLines } from '../data/copies/check.ts'
import { TurnwireError, wordsOf } from '../language/errors.ts'
import type { Receipt } from '../language/make-receipt.ts'
import { parseJson } from '../lib/json/index.ts'
import { KeptOutputs } from './kept-outputs.ts'
import { readSealed, sealedStart } from './sealed-form.ts'
import { isOwnPage } from './sealed-page.ts'
import type { TrustedKeys } from './trust.ts'
import { type Broken, LogVerifier, type VerifiedLog } from './verify-log.ts'
import { flawOfReceipt, flawOfReceipts, isReceipt } from './verify-receipt.ts'

/** `damage`: what is wrong with the file beside its sessions. */
export type VerifiedFile =
  | { kind: 'export'; sessions: VerifiedLog[]; damage?: string }
  | { kind: 'sealed'; sessions: VerifiedLog[]; damage?: string }
  | { kind: 'receipt'; receipt: Receipt; damage?: string }

/** `step`: called with how many events of an export were checked. `receipts`: see LogVerifier. */
export type VerifyOptions = { step?: (events: number) => void; receipts?: readonly Receipt[] }

/** Throws a TurnwireError if it is none of these files. */
export async function verifyFile(
  file: string,
  trusted: TrustedKeys,
  options: VerifyOptions = {},
): Promise<VerifiedFile> {
  const start = await firstBytes(file)
  if (start.startsWith(sealedStart)) return verifySealed(readFileSync(file), trusted, options)
  if (/^\s*\{\s*"turnwire":\s*"receipt"/.test(start))
    return verifyReceiptText(readFileSync(file, 'utf8'), trusted)
  if (start.startsWith('{')) return verifyExport(file, trusted, options)
  throw new TurnwireError(
    'bad_request',
    `${file} is no export, no receipt and no sealed session, or its beginning was changed.`,
  )
}

async function firstBytes(file: string): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of createReadStream(file, { start: 0, end: 4095 })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

export function verifyReceiptText(text: string, trusted: TrustedKeys): VerifiedFile {
  const receipt = parseReceipt(text)
  if (!isReceipt(receipt))
    throw new TurnwireError('bad_request', 'The file is no receipt: parts of it are missing.')
  const flaw = flawOfReceipt(receipt, trusted)
  return { kind: 'receipt', receipt, ...(flaw !== undefined && { damage: flaw }) }
}

/** A member that stands in it twice is refused: another reader could take the first. */
function parseReceipt(text: string): unknown {
  try {
    return parseJson(text)
  } catch (cause) {
    throw new TurnwireError('bad_request', `The file is no receipt: ${wordsOf(cause)}`, { cause })
  }
}

/** The signatures first, then the hashes of the file, which anyone could make anew. */
async function verifyExport(
  file: string,
  trusted: TrustedKeys,
  { step, receipts }: VerifyOptions,
): Promise<VerifiedFile> {
  const sessions: VerifiedLog[] = []
  let checked = 0
  try {
    let current: { verifier: LogVerifier; outputs: KeptOutputs; events: number } | undefined
    const seen = new Set<string>()
    for await (const { line, text, number } of readLines(file)) {
      // Otherwise a member could stand in it twice, and another reader take the first.
      if (JSON.stringify(line) !== text) throw damaged(file, number, 'it is not as an export writes it')
      if ('session' in line && seen.has(line.session))
        throw damaged(file, number, `the session ${line.session} is in the file twice`)
      if ('session' in line) {
        seen.add(line.session)
        current = {
          verifier: new LogVerifier(line.session, trusted, 'whole', receipts),
          outputs: new KeptOutputs(),
          events: line.events,
        }
      } else if (current && 'event' in line) {
        current.verifier.take(line)
        current.outputs.take(line)
        step?.(++checked)
      } else if (current && 'piece' in line)
        current.outputs.piece(line.blob, Buffer.from(line.piece, 'base64'), line.last === true)
      else if (current && 'body' in line) current.outputs.text(line.blob, line.body)
      else if (current && 'end' in line)
        sessions.push(withOutputs(current.verifier.end(current.events), current.outputs))
    }
    if (sessions.some(({ broken }) => broken)) return { kind: 'export', sessions }
    await checkFile(file)
    return { kind: 'export', sessions }
  } catch (error) {
    const damage = error instanceof DamagedFile ? `line ${error.line}: ${error.why}` : wordsOf(error)
    return { kind: 'export', sessions, damage }
  }
}

/** The log and what is kept beside it. */
export function withOutputs(log: VerifiedLog, outputs: KeptOutputs): VerifiedLog {
  const broken = log.broken ?? outputs.end()
  return { ...log, outputs: outputs.count, ...(broken && { broken }) }
}

function verifySealed(bytes: Buffer, trusted: TrustedKeys, { receipts }: VerifyOptions): VerifiedFile {
  try {
    const text = bytes.toString('utf8')
    const sealed = readSealed(text)
    const verifier = new LogVerifier(sealed.session, trusted, 'sealed', receipts)
    for (const item of sealed.log) verifier.take(item)
    const result = verifier.end(sealed.events)
    const isOwn = Buffer.from(text).equals(bytes) && isOwnPage(text)
    const damage =
      (result.broken ? undefined : flawOfReceipts(sealed, trusted)) ??
      (isOwn
        ? undefined
        : 'the page around the log was changed, or a later version made it: do not believe what it shows')
    return { kind: 'sealed', sessions: [result], ...(damage !== undefined && { damage }) }
  } catch (error) {
    return { kind: 'sealed', sessions: [], damage: wordsOf(error) }
  }
}

/** The first thing that is wrong with what was checked. */
export function firstFlaw(verified: VerifiedFile): string | undefined {
  if (verified.kind === 'receipt') return verified.damage
  const broken = verified.sessions.find(
    (session): session is VerifiedLog & { broken: Broken } => session.broken !== undefined,
  )
  return broken ? `session ${broken.session}: ${broken.broken.why}` : verified.damage
}
