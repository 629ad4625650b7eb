// The approvals and questions that a turn waits for, as requests that an MCP client answers. The answers are given to
// calls that still wait: others may have been decided on another wire meanwhile.
import type { InputRequest } from '@modelcontextprotocol/server'
import type { Engine, GivenAnswer, SessionCall, SessionQuestion, SessionRef } from '../../engine/index.ts'
import { type Person, whyNotDecide } from '../../language/approvers.ts'
import { errorCodes, TurnwireError } from '../../language/errors.ts'
import type { Json } from '../../lib/json/index.ts'
import { callQuestions } from '../waiting-calls.ts'
import { decodeAnswer, decodeDecision, encodeCallQuestion, encodeQuestion } from './encode.ts'

/** The kinds of questions that the client can show to a person: forms, addresses to open. */
export type CanAsk = { form: boolean; url: boolean }

export type Answers = Readonly<Record<string, unknown>>

/**
 * `person`: is not asked about calls that others have to decide. `unique`: keys are never used again, in place of the names that
 * tools gave to their questions.
 */
export function openRequests(
  calls: readonly SessionCall[],
  can: CanAsk,
  person: Person,
  unique = false,
): [string, InputRequest][] {
  const approvals = can.form
    ? calls.filter(call => isAsking(call) && whyNotDecide(call, person) === undefined)
    : []
  const questions = keyed(calls.flatMap(callQuestions), unique).filter(([, { url }]) =>
    url === undefined ? can.form : can.url,
  )
  return [
    ...approvals.map((call): [string, InputRequest] => [call.part.id, encodeQuestion(call)]),
    ...questions.map(([key, question]): [string, InputRequest] => [key, encodeCallQuestion(question)]),
  ]
}

export async function giveAnswers(
  engine: Engine,
  ref: SessionRef,
  { answers, by, unique = false }: { answers: Answers; by: string; unique?: boolean },
): Promise<void> {
  const { calls } = await engine.summary(ref)
  const decisions = calls.filter(isAsking).flatMap(({ part: { id: callId } }) => {
    const decision = decodeDecision(answers[callId] as Json | undefined) // Checked there.
    if (!decision) return []
    const { granted, remember, reason } = decision
    return [{ callId, granted, by, ...(remember && { remember: true as const }), ...(reason && { reason }) }]
  })
  if (decisions.length > 0)
    await engine.command(ref, { do: 'respond', results: [], decisions, skipAnswered: true })
  for (const [key, { id: question }] of keyed(calls.flatMap(callQuestions), unique)) {
    const answer = decodeAnswer(answers[key] as Json | undefined) // Checked there.
    if (answer) await giveAnswer(engine, ref, { question, by, ...answer })
  }
}

/** An answer that does not fit its form changes nothing: the question is put again. */
async function giveAnswer(engine: Engine, ref: SessionRef, answer: GivenAnswer): Promise<void> {
  try {
    await engine.command(ref, { do: 'respond', results: [], decisions: [], answers: [answer] })
  } catch (error) {
    if (!(error instanceof TurnwireError) || errorCodes[error.code].status >= 500) throw error
  }
}

function isAsking({ stage }: SessionCall): boolean {
  return stage === 'asking'
}

/** By the name that the tool gave a question, where that is one of a kind; else by its id. */
function keyed(questions: readonly SessionQuestion[], unique: boolean): [string, SessionQuestion][] {
  return questions.map(question => {
    const { key, id } = question
    const isName =
      !unique && /^[a-z][\w-]{0,63}$/i.test(key) && questions.filter(each => each.key === key).length === 1
    return [isName ? key : id, question]
  })
}
