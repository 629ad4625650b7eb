// The exports of `turnwire/vue`: one composable for Vue 3, and the words and types of what it gives. It has no parts: a page draws the
// view with its own components.
export type { CallDecision, SessionClient, SessionConnection } from '../react/session-page.ts'
export * from '../react/view.ts'
export { type UsedSession, type UseSessionOptions, useSession } from './use-session.ts'
