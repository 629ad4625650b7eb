// Shows the receipt of a call and the public keys that receipts are checked with, and makes a new key.
import { isPostgresUrl } from '../../data/data-place.ts'
import { rotateKey } from '../../data/receipt-keys.ts'
import { findReceipt } from '../../language/make-receipt.ts'
import { printable } from '../../lib/text/index.ts'
import { type CliCommand, knownAction, UsageError, type Values } from '../command.ts'
import { inOnePage } from '../recorded-logs.ts'
import { configOption, dataFolder, dataOption, sessionPlace } from '../setup.ts'
import { ownKeys, signSession, storedLog } from '../signed-log.ts'

export const command: CliCommand = {
  name: 'receipts',
  usage: '[keys | show <session> <call> [--salts] | rotate]',
  about: `Receipts of settled calls.
  keys                   the public keys, as the server shows them at /.well-known/turnwire-receipts.json
  show <session> <call>  the receipt of one call, as JSON. It shows nothing of other calls
  rotate                 from now on a new key signs. What was signed before stays valid`,
  options: {
    salts: {
      type: 'boolean',
      help: 'show: with the salts, for a reader who is to compare the arguments and the outcome, and may guess them',
    },
    data: dataOption,
    config: configOption,
  },
  words: 3,
  async run({ values, words: [action = 'keys', ...words] }) {
    return knownAction('receipts', { keys: showKeys, show: showReceipt, rotate }, action)(values, words)
  },
}

type Act = (values: Values, words: readonly string[]) => Promise<number>

const showKeys: Act = async values => {
  process.stdout.write(`${JSON.stringify({ keys: await ownKeys(values) }, null, 2)}\n`)
  return 0
}

const showReceipt: Act = async (values, [session, call]) => {
  if (session === undefined || call === undefined)
    throw new UsageError('Say which: turnwire receipts show <session> <call>')
  const place = await sessionPlace(values)
  await signSession(place, session)
  const log = await storedLog(place, session)
  const receipt = await findReceipt(session, inOnePage(log), call, values['salts'] === true)
  if (!receipt)
    throw new UsageError(
      `There is no receipt of ${printable(call, 80)}: no such call is settled, its turn is not over, or the server signs no logs. See its calls with: turnwire sessions show ${printable(session, 80)}`,
    )
  process.stdout.write(`${JSON.stringify(receipt, null, 2)}\n`)
  return 0
}

const rotate: Act = async values => {
  if (process.env['TURNWIRE_RECEIPTS_KEY'])
    throw new UsageError(
      'The key comes from TURNWIRE_RECEIPTS_KEY. Put a new secret before the old one, with a space between, on every node: the first signs, the others stay public.',
    )
  const folder = await dataFolder(values)
  if (isPostgresUrl(folder))
    throw new UsageError('A database has no key of its own. Name the data folder with --data.')
  const { kid } = rotateKey(folder, Date.now)
  process.stdout.write(`From now on ${kid} signs. Servers take it with their next signature.\n`)
  return 0
}
