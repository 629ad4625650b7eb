// One session, for an application that wants its turns and not its protocol: `send` gives everything that happens as items,
// runs the application's tools, asks for approvals, and goes on until the turn ends. It keeps nothing that the server
// does not have: a page that was reloaded goes on with `resume` from the session's id alone. Several pages may have the
// same session open; a call is run by the one whose claim the server recorded first.
import { randomIds } from '../lib/text/random.ts'
import type { AapClient, SayOptions } from './client.ts'
import { SessionTurn, type TurnOptions } from './session-turn.ts'
import type { ApplicationMessage, Content, SentMessage, WaitingMessage } from './types.ts'

const newId = randomIds()

export class AapSession {
  readonly id: string
  readonly #client: AapClient
  /** Names this page in its claims. */
  readonly #claimant = newId('client')

  constructor(client: AapClient, id: string) {
    this.#client = client
    this.id = id
  }

  /** Sends a message. Iterate over the items of its turn, or await its end. */
  send(content: Content, options: TurnOptions = {}): SessionTurn {
    return this.#turn([{ role: 'user', content }], options)
  }

  /** Goes on with a turn that runs or waits: after a reload, or to watch it beside another client. */
  resume(options: TurnOptions = {}): SessionTurn {
    return this.#turn([], options)
  }

  /** Says something without reading its turn: also while a turn is under way. Resolves once it is recorded. */
  say(content: Content, options: SayOptions = {}): Promise<SentMessage> {
    return this.#client.say(this.id, content, options)
  }

  /** The messages that wait for their delivery. */
  async messages(): Promise<WaitingMessage[]> {
    return (await this.#client.getState(this.id)).messages ?? []
  }

  /** Takes back a message that waits. */
  withdraw(messageId: string): Promise<void> {
    return this.#client.withdraw(this.id, messageId)
  }

  /** Stops one call. The others and the turn go on. */
  cancelCall(toolCallId: string, reason?: string): Promise<void> {
    return this.#client.cancelCall(this.id, toolCallId, reason === undefined ? {} : { reason })
  }

  /** What became of a call that may have taken effect. */
  reconcile(toolCallId: string): Promise<'ran' | 'did-not-run' | 'unknown'> {
    return this.#client.reconcile(this.id, toolCallId)
  }

  /** Has a call undone, by a call of its own. */
  undo(toolCallId: string): Promise<void> {
    return this.#client.undo(this.id, toolCallId)
  }

  /** Ends the turn that is running or waiting. `withdraw`: messages that wait are withdrawn too. */
  cancel({ withdraw = false }: { withdraw?: boolean } = {}): Promise<void> {
    return this.#client.cancel(this.id, { withdraw })
  }

  #turn(messages: ApplicationMessage[], options: TurnOptions): SessionTurn {
    return new SessionTurn(
      { client: this.#client, session: this.id, claimant: this.#claimant },
      messages,
      options,
    )
  }
}
