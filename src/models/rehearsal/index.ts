// The rehearsal model, for the other folders.
export { type RehearsalOptions, rehearsal } from './rehearsal.ts'
