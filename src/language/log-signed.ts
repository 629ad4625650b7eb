// The event that signs a log. receipts.ts says what each of its members is made of.

/**
 * The events from `from` to `to` stand in the log as they were recorded: signed once their turn was over.
 */
export type LogSigned = {
  v: 1
  at: number
  type: 'log.signed'
  from: number
  to: number
  /** Its own number. */
  seq: number
  /** The head of the events before `from`. Empty: there are none. */
  previous: string
  /** The hash of `previous` and of the digests of these events. */
  head: string
  /** How these digests and the receipts are made: see receipts.ts. Absent: in the first way. */
  way?: 2
  /**
   * Up to this event they were read from the store when they were signed, as this process had not recorded them: a change of the
   * store before that would not show. Absent: none was, or only signatures.
   */
  readBack?: number
  /** The version of the rules at the end of these events. Absent: the agent has none. */
  policy?: string
  /** The calls that were settled in these events, and the root of the tree of their receipts. */
  calls: { count: number; root: string }
  /** The source of the salts of these digests. */
  salt: string
  /** The beginning of each digest, by which a changed event is found. Absent: there are too many events. */
  marks?: string
  /** The public key (Ed25519, in base64url), and its signature. */
  key: string
  signature: string
}
