// The parts of both Google APIs around a request: keys, and failures of the service itself.
import { statusName } from '../../../apis/gemini/wordings.ts'
import { bearerKey, type VendorDouble } from '../double.ts'
import type { Rejection } from '../script.ts'

const FAILURES: Readonly<Record<number, string>> = {
  400: 'Request contains an invalid argument.',
  401: 'Request had invalid authentication credentials.',
  403: "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  404: 'Requested entity was not found.',
  422: 'Unprocessable.',
  429: 'You exceeded your current quota, please check your plan and billing details.',
  503: 'The model is overloaded. Please try again later.',
  504: 'The request timed out. Please try again.',
}

/** Google has no 529: an overloaded model answers 503. */
export function googleFailure(given: number): Rejection {
  const status = given === 529 ? 503 : given
  const message = FAILURES[status] ?? 'An internal error has occurred.'
  return { rule: 'G-00', status, type: statusName(status), message }
}

export const authoriseGoogle: VendorDouble<unknown>['authorise'] = (headers, query, apiKey) => {
  const key = headers['x-goog-api-key'] ?? query.get('key') ?? bearerKey(headers)
  if (!key) return googleFailure(403)
  if (apiKey === undefined || key === apiKey) return null
  return { ...googleFailure(400), message: 'API key not valid. Please pass a valid API key.' }
}
