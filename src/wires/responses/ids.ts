// Ids that name a place in a session's log, so that they mean the same after a restart and need no table. A response is
// named by its session and by the number of the event that accepted its request. An item is named by the same two, the
// number of the model's answer in the response, and its number among the items of its kind in that answer.

const sessionPrefix = 'sess_'
const callPrefix = 'call_'

/** The part of a session's id that its responses and items carry. */
export function idStem(session: string): string {
  return session.startsWith(sessionPrefix) ? session.slice(sessionPrefix.length) : session
}

export type ResponsePlace = { session: string; first: number }

export function responseId({ session, first }: ResponsePlace): string {
  return `resp_${idStem(session)}_${first}`
}

export function readResponseId(id: string): ResponsePlace | undefined {
  const found = /^resp_([A-Za-z0-9]+)_(\d{1,15})$/.exec(id)
  return found ? { session: sessionPrefix + found[1]!, first: Number(found[2]) } : undefined
}

/** `stem` and `first` of the response; the numbers of the answer and of the item, both from 0. */
export function itemId(prefix: string, stem: string, first: number, answer: number, item: number): string {
  return `${prefix}_${stem}_${first}_${answer}_${item}`
}

/** `answer`: the number of the model's answer in the response, from 0. */
export type ItemPlace = ResponsePlace & { id: string; answer: number }

export function readItemId(id: string): ItemPlace | undefined {
  const found = /^(?:msg|rs|fc|ctc|tsc|cmp|mcp)_([A-Za-z0-9]+)_(\d{1,15})_(\d{1,9})_\d{1,9}$/.exec(id)
  return found
    ? { session: sessionPrefix + found[1]!, first: Number(found[2]), answer: Number(found[3]), id }
    : undefined
}

/** The id of an approval request is the call's id with another prefix. */
export function approvalId(callId: string): string {
  return `mcpr_${callId.startsWith(callPrefix) ? callId.slice(callPrefix.length) : callId}`
}

export function callOfApproval(id: string): string {
  return callPrefix + id.replace(/^mcpr_/, '')
}
