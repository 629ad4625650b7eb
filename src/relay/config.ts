// The setting `relay` of the configuration: who may attach agents from their own machines, and how much a machine may take.
import { readWalletAddress } from '../callers/wallet.ts'
import { count, each, group, matches, must, type SettingChecks } from '../lib/checks/fields.ts'

export type RelayConfig = {
  /** The wallets whose owners may sign in and attach agents, or "*" for every wallet. */
  owners: '*' | readonly string[]
  /** Requests that one machine answers at the same time. Default 8. */
  atOnce?: number
  /** How long a request waits for an agent that can take it. Default 30,000. */
  queueMs?: number
  /** Requests that wait at the same time. Default 1,000. */
  waiting?: number
  /** Machines that are asked for one request before it fails. Default 3. */
  attempts?: number
  /** How long a machine may take until its answer begins. Default 120,000. */
  firstFrameMs?: number
  /** How long it may be silent within an answer. Default 60,000. */
  idleMs?: number
  /** How long a whole answer may take, with the time in the queue. Default 600,000. */
  answerMs?: number
  /** The size of one answer. Default 8 MiB. */
  answerBytes?: number
  /** How long a token is good for. Machines that stay attached get new ones. Default 24. */
  tokenHours?: number
  /** How long a machine stays attached after its wallet has signed. Then it signs in again. Default 168, a week. */
  signInHours?: number
  /**
   * Where payments are configured: the most that one request may cost, in the asset's smallest unit, which payers sign for.
   * Default "1000000", a dollar of USDC.
   */
  maxCost?: string
  /** The time between two pings. Default 15,000. */
  pingMs?: number
}

const MiB = 1024 * 1024

export const relayDefaults = {
  atOnce: 8,
  queueMs: 30_000,
  waiting: 1_000,
  attempts: 3,
  firstFrameMs: 120_000,
  idleMs: 60_000,
  answerMs: 600_000,
  answerBytes: 8 * MiB,
  tokenHours: 24,
  signInHours: 168,
  pingMs: 15_000,
} satisfies Omit<Required<RelayConfig>, 'owners' | 'maxCost'>

export const defaultMaxCost = '1000000'

const settings: SettingChecks<RelayConfig> = {
  ...each(relayDefaults, count),
  maxCost: matches(
    /^[1-9]\d{0,29}$/,
    'must be a whole number above 0 as text, in the smallest unit of the asset: "1000000".',
  ),
  owners: {
    needed: must(
      owners => owners === '*' || (Array.isArray(owners) && owners.every(readWalletAddress)),
      'must list the wallets that may attach agents, such as ["0x…"] with 40 digits each, or be "*" for every wallet.',
    ),
  },
}
export const checkRelay = group(settings, 'must be an object such as { owners: ["0x…"] }.')
