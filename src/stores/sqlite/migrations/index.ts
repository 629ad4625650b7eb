// The numbered migrations, in order: the first is number 1. A file remembers the last one it has seen as its
// `user_version`. To change the shape, add a file and a line; what stands here is never edited or reordered.
import { sessionsLogBlobs } from './0001-sessions-log-blobs.ts'
import { cards } from './0002-cards.ts'
import { logChains } from './0003-log-chains.ts'

export const migrations: readonly string[] = [sessionsLogBlobs, cards, logChains]
