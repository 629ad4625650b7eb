// How Interactions refuses a request. The exact words of the service are little known: codes and statuses are its own,
// the messages are ours.
import type { Rejection } from '../script.ts'

export function interactionsError(
  rule: string,
  message: string,
  code = 'invalid_request',
  status = 400,
): Rejection {
  return { rule, status, type: code, code, message }
}

export const interactionNotFound = (id: string, why = ''): Rejection =>
  interactionsError('I-04', `Interaction '${id}' not found.${why}`, 'not_found', 404)
