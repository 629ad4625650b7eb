import { timingSafeEqual } from 'node:crypto'

/** How long it takes does not tell where the texts differ. */
export function isSameText(given: string, wanted: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(wanted)]
  return one.length === other.length && timingSafeEqual(one, other)
}
