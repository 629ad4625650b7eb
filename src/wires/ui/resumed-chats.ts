// Which chats have a client that resumes: one that has asked for the running message of the chat, as `useChat` with `resume`
// does when its page is loaded. It may ask before the chat has a session; once there is one, a mark beside the session's
// log keeps it, so that a restart forgets nothing.
import type { Engine, SessionRef } from '../../engine/index.ts'
import { hasCode } from '../../language/errors.ts'
import type { ClientThread } from '../client-threads.ts'

const mark = 'ui-resumed'
/** Chats without a session that are remembered. The oldest make room. */
const mostWaiting = 10_000

export class ResumedChats {
  readonly #withoutSession = new Set<string>()

  /** The chat's client resumes. */
  async add(engine: Engine, thread: ClientThread, ref: SessionRef | undefined): Promise<void> {
    if (ref) {
      if (!(await this.has(engine, ref)))
        await engine.command(ref, { do: 'keep', name: mark, text: 'resumed' })
      return
    }
    const [oldest] = this.#withoutSession
    if (oldest !== undefined && this.#withoutSession.size >= mostWaiting) this.#withoutSession.delete(oldest)
    this.#withoutSession.add(resumedChatKey(thread))
  }

  /** The chat has a session now. */
  async keep(engine: Engine, thread: ClientThread, ref: SessionRef): Promise<void> {
    if (this.#withoutSession.delete(resumedChatKey(thread))) await this.add(engine, thread, ref)
  }

  async has(engine: Engine, ref: SessionRef): Promise<boolean> {
    try {
      await engine.blob(ref, { get: 'text', name: mark })
      return true
    } catch (error) {
      if (hasCode(error, 'not_found')) return false
      throw error
    }
  }
}

function resumedChatKey({ owner, agent, id }: ClientThread): string {
  return JSON.stringify([owner, agent, id])
}
