// The store as the engine of a node uses it: nothing is written unless the lease is trusted at that moment, also right after
// the event loop was blocked or the process was stopped. The epochs in the store would refuse most of it anyway.
import type { Store } from '../../engine/ports/index.ts'
import { present } from '../../lib/json/present.ts'

type OptionalMember = {
  [Name in keyof Store]-?: object extends Pick<Store, Name> ? Name : never
}[keyof Store]

/** `check` throws if nothing may be written. */
export function fencedStore(store: Store, check: () => void): Store {
  const checked =
    <Args extends unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      try {
        check()
      } catch (error) {
        return Promise.reject(error)
      }
      return write(...args)
    }
  // The type demands each of them: one that is left out here would be missing on every node, and nothing else would say so.
  const optional: { [Name in OptionalMember]: Store[Name] } = {
    lingerMs: store.lingerMs,
    inMemory: store.inMemory,
    spent: store.spent?.bind(store),
    spend: store.spend?.bind(store),
    records: store.records,
    // Its index can be made of the logs again, and several nodes may write it at the same time.
    finder: store.finder,
    failure: store.failure?.bind(store),
  }
  return {
    ...present(optional),
    create: checked(session => store.create(session)),
    claim: checked((session, recovering) => store.claim(session, recovering)),
    append: checked(batch => store.append(batch)),
    remove: checked((session, epoch) => store.remove(session, epoch)),
    putBlob: checked((...args) => store.putBlob(...args)),
    addPiece: checked((session, name, piece) => store.addPiece(session, name, piece)),
    row: session => store.row(session),
    requested: (owner, key) => store.requested(owner, key),
    read: (session, after, options) => store.read(session, after, options),
    list: (owner, page) => store.list(owner, page),
    owners: () => store.owners(),
    usage: owner => store.usage(owner),
    unfinished: () => store.unfinished(),
    blobs: (...args) => store.blobs(...args),
    blob: (session, name) => store.blob(session, name),
    blobRange: (session, name, from, length) => store.blobRange(session, name, from, length),
    close: () => store.close(),
  }
}
