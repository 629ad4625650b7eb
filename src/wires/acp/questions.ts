// Questions of running calls, as the client is asked them: one open elicitation per question, answered once. A question that
// the client cannot show stays open for another wire. An answer elsewhere withdraws the request.
import type { CreateElicitationRequest, CreateElicitationResponse } from '@agentclientprotocol/sdk'
import type { GivenAnswer } from '../../engine/index.ts'
import { TurnwireError, wordsOf } from '../../language/errors.ts'
import type { QuestionAsked } from '../../language/events.ts'
import { answerActions, type FormContent } from '../../language/questions.ts'
import { suspicionsOf } from '../../language/suspicions.ts'
import type { SessionContext } from './host.ts'

export class Questions {
  readonly #context: SessionContext
  readonly #open = new Map<string, AbortController>()

  constructor(context: SessionContext) {
    this.#context = context
  }

  ask(asked: QuestionAsked): void {
    const { peer, host, ref } = this.#context
    const isShown = peer.abilities.elicitation.includes(asked.url === undefined ? 'form' : 'url')
    if (!isShown || this.#open.has(asked.question)) return
    const controller = new AbortController()
    this.#open.set(asked.question, controller)
    this.#ask(asked, controller).catch(error => {
      host.log('error', 'A question could not be answered.', { session: ref.session, error: wordsOf(error) })
    })
  }

  withdraw(question: string): void {
    const controller = this.#open.get(question)
    this.#open.delete(question)
    controller?.abort()
  }

  withdrawAll(): void {
    for (const question of [...this.#open.keys()]) this.withdraw(question)
  }

  /** An answer that does not fit the form changes nothing: the question is put again, with the reason. */
  async #ask(asked: QuestionAsked, controller: AbortController): Promise<void> {
    const { question } = asked
    let fault: string | undefined
    for (let tries = 0; tries < mostTries; tries += 1) {
      const response = await this.#elicit(asked, controller.signal, fault)
      if (!response || this.#open.get(question) !== controller) return
      fault = await this.#answer(question, response)
      if (fault === undefined) break
    }
    if (this.#open.get(question) === controller) this.#open.delete(question)
  }

  /** Undefined: it was withdrawn, or the client is gone. The question stays open for others. */
  async #elicit(
    { question, callId, message, schema, url }: QuestionAsked,
    signal: AbortSignal,
    fault: string | undefined,
  ): Promise<CreateElicitationResponse | undefined> {
    const { peer, ref } = this.#context
    const warnings = suspicionsOf([message, url ?? '', schema ?? {}])
    const words = [...(fault === undefined ? [] : [fault]), message, ...warnings].join('\n\n')
    const scope = { sessionId: ref.session, toolCallId: callId, message: words }
    const request =
      url === undefined
        ? { ...scope, mode: 'form', requestedSchema: schema }
        : { ...scope, mode: 'url', elicitationId: question, url }
    // The form was checked when it was asked: it is one of this protocol's forms.
    return peer.elicit(request as CreateElicitationRequest, signal).catch(() => undefined)
  }

  /** Why it is no answer; undefined if it was taken, or is needed no more. */
  async #answer(question: string, response: CreateElicitationResponse): Promise<string | undefined> {
    const { ref, host } = this.#context
    const answers = [{ question, by: host.principal.name, ...answerOf(response) }]
    try {
      await host.engine.command(ref, { do: 'respond', results: [], decisions: [], answers })
      return undefined
    } catch (error) {
      if (!(error instanceof TurnwireError)) throw error
      if (answeredElsewhere.has(error.code)) return undefined
      if (error.code !== 'bad_request') throw error
      return error.message
    }
  }
}

/** A client that gives what does not fit each time is not asked forever. */
const mostTries = 5
const answeredElsewhere = new Set(['already_decided', 'call_settled', 'unknown_call', 'approval_expired'])

/** Anything but the three words is no acceptance. */
function answerOf(response: CreateElicitationResponse): Pick<GivenAnswer, 'action' | 'content'> {
  const given: { action?: unknown; content?: unknown } = response
  const action = answerActions.find(each => each === given.action) ?? 'cancel'
  const { content } = given
  const isForm = typeof content === 'object' && content !== null
  // The engine checks it against the form.
  return isForm && action === 'accept' ? { action, content: content as FormContent } : { action }
}
