// The key of an agent's wallet, in a file that only its owner can read. It signs in to relays and receives payments.
// Anyone who has the key owns the money of the wallet.
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { type Wallet, walletFromKey } from '../../callers/wallet.ts'
import { TurnwireError } from '../../language/errors.ts'

/** Opens the wallet of this file. It is made if it is not there: `isNew`. */
export async function openWallet(file: string): Promise<Wallet & { isNew: boolean }> {
  const isNew = makeKey(file)
  const key = readFileSync(file, 'utf8').trim()
  if (!/^0x[0-9a-f]{64}$/i.test(key))
    throw new TurnwireError(
      'config_invalid',
      `${file} holds no key: it must be 0x and 64 hexadecimal digits.`,
    )
  if (process.platform !== 'win32' && statSync(file).mode & 0o077)
    throw new TurnwireError(
      'config_invalid',
      `${file} can be read by others, so its wallet is not safe. Close it: chmod 600 ${file}`,
    )
  const wallet = await walletFromKey(key)
  return { ...wallet, isNew }
}

function makeKey(file: string): boolean {
  let handle: number
  try {
    handle = openSync(file, 'wx', 0o600)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw new TurnwireError('config_invalid', `The key file ${file} cannot be made.`, { cause: error })
  }
  try {
    // Every number of 32 bytes but about one in 2^128 is a key.
    writeSync(handle, `0x${randomBytes(32).toString('hex')}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  return true
}
