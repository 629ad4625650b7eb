// All statements of one connection, prepared once.
import type { DatabaseSync } from 'node:sqlite'
import { prepareAdvanceSession } from './advance-session.ts'
import { prepareClaimSession } from './claim-session.ts'
import { prepareDeleteBatch } from './delete-batch.ts'
import { prepareDeleteSession } from './delete-session.ts'
import { prepareFindRequest } from './find-request.ts'
import { prepareFindSession } from './find-session.ts'
import { prepareInsertBatch } from './insert-batch.ts'
import { prepareInsertSession } from './insert-session.ts'
import { prepareListOwners } from './list-owners.ts'
import { prepareListRunning } from './list-running.ts'
import { prepareListSessions } from './list-sessions.ts'
import { prepareSelectBatches } from './select-batches.ts'
import { prepareSelectBlob } from './select-blob.ts'
import { prepareSelectCursorSecret } from './select-cursor-secret.ts'
import { prepareSelectSession } from './select-session.ts'
import { prepareTransaction } from './transaction.ts'
import { prepareUpsertBlob } from './upsert-blob.ts'
import { prepareUpsertCard } from './upsert-card.ts'

export type Statements = ReturnType<typeof prepareStatements>

export function prepareStatements(db: DatabaseSync) {
  return {
    advanceSession: prepareAdvanceSession(db),
    claimSession: prepareClaimSession(db),
    deleteBatch: prepareDeleteBatch(db),
    deleteSession: prepareDeleteSession(db),
    findRequest: prepareFindRequest(db),
    findSession: prepareFindSession(db),
    insertBatch: prepareInsertBatch(db),
    insertSession: prepareInsertSession(db),
    listOwners: prepareListOwners(db),
    listRunning: prepareListRunning(db),
    listSessions: prepareListSessions(db),
    selectBatches: prepareSelectBatches(db),
    selectBlob: prepareSelectBlob(db),
    selectCursorSecret: prepareSelectCursorSecret(db),
    selectSession: prepareSelectSession(db),
    transaction: prepareTransaction(db),
    upsertBlob: prepareUpsertBlob(db),
    upsertCard: prepareUpsertCard(db),
  }
}
