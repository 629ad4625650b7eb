// Logs that are signed by machines with keys of their own, and the check that every log verifies in the end: with signatures of
// several machines in turns, after kills, lost leases and writes that failed.
import type { ReceiptSigner } from '../../src/engine/ports/index.ts'
import type { Event } from '../../src/language/events.ts'
import { deriveSigningKey, makeSigner, thumbprint } from '../../src/lib/signing/ed25519.ts'
import { LogVerifier } from '../../src/proof/verify-log.ts'

const keys = ['one', 'two'].map(name => {
  const key = deriveSigningKey('the-keys-of-simulated-machines', name)
  return { key: key.x, sign: makeSigner(key) }
})
const trusted = new Map(keys.map(({ key }) => [thumbprint(key), {}]))

export class Signing {
  #salts = 0

  /** `born`: the number of the machine. */
  signerOf(born: number): ReceiptSigner {
    const current = keys[born % keys.length]!
    return { current: () => current, newSalt: () => `salt ${++this.#salts}` }
  }

  /** What is wrong with a log at rest. */
  flawOf(session: string, events: readonly Event[]): string | undefined {
    const verifier = new LogVerifier(session, trusted)
    for (const [index, event] of events.entries()) verifier.take({ seq: index + 1, event })
    const { broken, unsigned, signedTo } = verifier.end(events.length)
    if (broken) return `event ${broken.seq}: ${broken.why}`
    return unsigned > 0 || signedTo === 0 ? `${unsigned} events are not signed` : undefined
  }
}
