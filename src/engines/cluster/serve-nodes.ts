// Serves other nodes: decides which of their calls this node takes, and gives a session up to one of them.
import type { SessionRef } from '../../engine/ports/boundary.ts'
import type { EngineHere } from '../../engine/ports/local.ts'
import type { NodeStore } from '../../engine/ports/node.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Admit } from '../socket/index.ts'
import type { NodeLease } from './node-lease.ts'

export type ServedParts = {
  local: EngineHere
  store: NodeStore
  lease: NodeLease
  isStopping: () => boolean
}

export type ServedToNodes = {
  /** A call makes one hop: it is taken if this node has the session under the epoch that the caller knows. */
  admit: Admit
  giveUp(session: string, epoch: number, graceMs: number): Promise<void>
}

export function servedToNodes({ local, store, lease, isStopping }: ServedParts): ServedToNodes {
  const atRest = async (session: string, epoch: number): Promise<void> => {
    if (isStopping()) {
      await store.release(session, epoch)
      throw moved(session)
    }
    const holder = await store.holder(session)
    // One that is gone is refused by the engine.
    const isHere = holder?.node?.id === lease.id && holder.epoch === epoch
    if (holder && !isHere) throw moved(session)
  }
  return {
    admit(name, args, epoch) {
      if (epoch === undefined) return undefined
      lease.meetOther()
      lease.check()
      // A report that finds no run is for a run that is over.
      if (name === 'report') return undefined
      const ref = args[0] as SessionRef // All calls with an epoch begin with it.
      const held = local.heldEpoch(ref)
      if (held === undefined) return atRest(ref.session, epoch)
      if (held !== epoch) throw moved(ref.session)
      return undefined
    },
    async giveUp(id, epoch, graceMs) {
      const row = await store.row(id)
      if (row) await local.giveUp({ owner: row.owner, session: id }, epoch, graceMs, moved(id))
      await store.release(id, epoch)
    },
  }
}

function moved(session: string): TurnwireError {
  return new TurnwireError('moved', `Session ${session} is on another node. Nothing was recorded; ask again.`)
}
