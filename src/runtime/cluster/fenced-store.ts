// The store as the engine of a node uses it: nothing is written unless the lease is trusted at that moment, also right after
// the event loop was blocked or the process was stopped. The epochs in the store would refuse most of it anyway.
import type { NodeStore, Store } from '../../engine/index.ts'

/** `check` throws if nothing may be written. */
export function fencedStore(store: NodeStore, check: () => void): Store {
  const checked =
    <Args extends unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
    (...args: Args): Promise<Result> => {
      try {
        check()
      } catch (error) {
        return Promise.reject(error)
      }
      return write.apply(store, args)
    }
  return {
    ...(store.lingerMs !== undefined && { lingerMs: store.lingerMs }),
    create: checked(store.create),
    claim: checked(store.claim),
    append: checked(store.append),
    remove: checked(store.remove),
    putBlob: checked(store.putBlob),
    addPiece: checked(store.addPiece),
    row: session => store.row(session),
    requested: (owner, key) => store.requested(owner, key),
    read: (session, after, options) => store.read(session, after, options),
    list: (owner, page) => store.list(owner, page),
    owners: () => store.owners(),
    usage: owner => store.usage(owner),
    unfinished: () => store.unfinished(),
    blob: (session, name) => store.blob(session, name),
    blobRange: (session, name, from, length) => store.blobRange(session, name, from, length),
    ...(store.failure && { failure: () => store.failure?.() }),
    close: () => store.close(),
  }
}
