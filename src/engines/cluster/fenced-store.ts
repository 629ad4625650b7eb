// The store as the engine of a node uses it: nothing is written unless the lease is trusted at that moment, also right after
// the event loop was blocked or the process was stopped. The epochs in the store would refuse most of it anyway.
import type { Store } from '../../engine/ports/index.ts'

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
  return {
    ...(store.lingerMs !== undefined && { lingerMs: store.lingerMs }),
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
    ...(store.spent && { spent: store.spent.bind(store) }),
    ...(store.spend && { spend: store.spend.bind(store) }),
    ...(store.records && { records: store.records }),
    unfinished: () => store.unfinished(),
    blobs: (...args) => store.blobs(...args),
    blob: (session, name) => store.blob(session, name),
    blobRange: (session, name, from, length) => store.blobRange(session, name, from, length),
    ...(store.failure && { failure: () => store.failure?.() }),
    close: () => store.close(),
  }
}
