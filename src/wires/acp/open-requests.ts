// Open requests to a client: at most one for each id. A request is withdrawn when the answer came from elsewhere or is
// not needed any more. Permissions and questions extend this and handle the answers.
import { wordsOf } from '../../language/errors.ts'
import type { SessionContext } from './host.ts'

/** `isOpen`: it was neither withdrawn nor dropped since. */
type Ask = (signal: AbortSignal, isOpen: () => boolean) => Promise<void>

export class OpenRequests {
  protected readonly context: SessionContext
  readonly #open = new Map<string, AbortController>()

  constructor(context: SessionContext) {
    this.context = context
  }

  /** `failed`: what the server's log says if `ask` fails. */
  protected open(id: string, failed: string, ask: Ask): void {
    if (this.#open.has(id)) return
    const controller = new AbortController()
    this.#open.set(id, controller)
    ask(controller.signal, () => this.#open.get(id) === controller).catch(error => {
      const { host, ref } = this.context
      host.log('error', failed, { session: ref.session, error: wordsOf(error) })
    })
  }

  /** It was answered. */
  protected close(id: string): void {
    this.#open.delete(id)
  }

  /** It was answered elsewhere, or is needed no more. */
  withdraw(id: string): void {
    const controller = this.#open.get(id)
    this.#open.delete(id)
    controller?.abort()
  }

  withdrawAll(): void {
    for (const id of [...this.#open.keys()]) this.withdraw(id)
  }

  /** The client has cancelled the turn, so it ends its requests itself. Its answers are ignored. */
  dropAll(): void {
    this.#open.clear()
  }
}
