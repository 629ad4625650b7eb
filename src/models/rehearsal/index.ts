// The door of the rehearsal model.
export { type RehearsalOptions, rehearsal } from './rehearsal.ts'
