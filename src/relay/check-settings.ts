// Checks the setting `relay`.

import { checkCount, checkKnown, isRecord, type Wrong } from '../lib/checks/fields.ts'
import { relayDefaults } from './config.ts'

export function checkRelay(relay: unknown, wrong: Wrong): void {
  if (relay === undefined) return
  if (!isRecord(relay)) {
    wrong('relay', 'must be an object such as { owners: ["0x…"] }.')
    return
  }
  const counts = Object.keys(relayDefaults)
  checkKnown(relay, ['owners', 'maxCost', ...counts], 'relay.', wrong)
  for (const name of counts) checkCount(relay[name], `relay.${name}`, wrong)
  const { owners, maxCost } = relay
  if (maxCost !== undefined && !(typeof maxCost === 'string' && /^[1-9]\d{0,29}$/.test(maxCost)))
    wrong(
      'relay.maxCost',
      'must be a whole number above 0 as text, in the smallest unit of the asset: "1000000".',
    )
  const isList = Array.isArray(owners) && owners.every(each => /^0x[0-9a-f]{40}$/i.test(String(each)))
  if (owners !== '*' && !isList)
    wrong(
      'relay.owners',
      'must list the wallets that may attach agents, such as ["0x…"] with 40 digits each, or be "*" for every wallet.',
    )
}
