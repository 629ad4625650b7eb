// The port for small records beside the logs, such as a webhook that is to be delivered. A record has one body, is changed by one
// writer at a time, and may be due at a time. It is no session: its changes have no log and no readers that follow them.

export type NewRecord = {
  /** Records of one kind are listed, and become due, apart from those of other kinds. */
  kind: string
  /** One record of a kind has it. */
  name: string
  /** When it was made. Lists are in this order. */
  at: number
  body: string
  /** When something is to be done with it. Absent: never. */
  dueAt?: number
  /** It is removed with this session. */
  session?: string
}

/** `version`: how often it was written. */
export type KeptRecord = NewRecord & { version: number }

/** `after`: the `next` of the page before. */
export type RecordPage = { kind: string; limit: number; after?: string }

/**
 * Contract.
 * - A write is all or nothing, and durable once it has resolved. Reads see every write that resolved before.
 * - The `records` of an append are added with its events or not at all. A name that is taken is left as it is.
 * - Methods never throw; they reject, with a TurnwireError (`store_*`, `bad_request`).
 */
export type RecordStore = {
  /** False: there is one of this kind and name, and nothing was written. */
  add(record: NewRecord): Promise<boolean>
  /** Replaces its body and when it is due. Undefined: it was changed or removed since it was read, and nothing was written. */
  change(kept: KeptRecord, to: Pick<NewRecord, 'body' | 'dueAt'>): Promise<KeptRecord | undefined>
  /** False: it was changed or removed since it was read. */
  remove(kept: KeptRecord): Promise<boolean>
  find(kind: string, name: string): Promise<KeptRecord | undefined>
  /** Newest first. */
  list(page: RecordPage): Promise<{ rows: KeptRecord[]; next?: string }>
  /** Those that are due first, in this order, whether their time has come or not. */
  due(kind: string, limit: number): Promise<KeptRecord[]>
}
