// Questions of running calls, as the client is asked them: one open elicitation per question, answered once. A question that
// the client cannot show stays open for another wire. An answer elsewhere withdraws the request.
import type { CreateElicitationRequest, CreateElicitationResponse } from '@agentclientprotocol/sdk'
import type { GivenAnswer } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import { answerActions, type FormContent } from '../../language/questions.ts'
import type { ShownQuestion } from '../../language/show.ts'
import { findSuspicions } from '../../language/suspicions.ts'
import { OpenRequests } from './open-requests.ts'

export class Questions extends OpenRequests {
  /** An answer that does not fit the form changes nothing: the question is put again, with the reason. */
  ask(callId: string, question: ShownQuestion): void {
    const mode = question.url === undefined ? 'form' : 'url'
    if (!this.context.peer.abilities.elicitation.includes(mode)) return
    const { id } = question
    this.open(id, 'A question could not be answered.', async (signal, isOpen) => {
      let fault: string | undefined
      for (let tries = 0; tries < mostTries; tries += 1) {
        const response = await this.#elicit(callId, question, signal, fault)
        if (!response || !isOpen()) return
        fault = await this.#answer(id, response)
        if (fault === undefined) break
      }
      if (isOpen()) this.close(id)
    })
  }

  /** Undefined: it was withdrawn, or the client is gone. The question stays open for others. */
  async #elicit(
    toolCallId: string,
    { id, message, schema, url }: ShownQuestion,
    signal: AbortSignal,
    fault: string | undefined,
  ): Promise<CreateElicitationResponse | undefined> {
    const { peer, ref } = this.context
    const warnings = findSuspicions([message, url ?? '', schema ?? {}])
    const words = [...(fault === undefined ? [] : [fault]), message, ...warnings].join('\n\n')
    const scope = { sessionId: ref.session, toolCallId, message: words }
    const request =
      url === undefined
        ? { ...scope, mode: 'form', requestedSchema: schema }
        : { ...scope, mode: 'url', elicitationId: id, url }
    // The form was checked when it was asked: it is one of this protocol's forms.
    return peer.elicit(request as CreateElicitationRequest, signal).catch(() => undefined)
  }

  /** Why it is no answer; undefined if it was taken, or is needed no more. */
  async #answer(question: string, response: CreateElicitationResponse): Promise<string | undefined> {
    const { ref, host } = this.context
    const answers = [{ question, by: host.principal.name, ...decodeAnswer(response) }]
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
function decodeAnswer(response: CreateElicitationResponse): Pick<GivenAnswer, 'action' | 'content'> {
  const given: { action?: unknown; content?: unknown } = response
  const action = answerActions.find(each => each === given.action) ?? 'cancel'
  const { content } = given
  const isForm = typeof content === 'object' && content !== null
  // The engine checks it against the form.
  return isForm && action === 'accept' ? { action, content: content as FormContent } : { action }
}
