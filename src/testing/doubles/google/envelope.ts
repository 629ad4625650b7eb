// The parts of both Google APIs around a request: keys, and failures of the service itself.
import { bearerKey, type VendorDouble } from '../double.ts'
import type { Rejection } from '../script.ts'

const STATUSES: Readonly<Record<number, [status: string, message: string]>> = {
  400: ['INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  401: ['UNAUTHENTICATED', 'Request had invalid authentication credentials.'],
  403: [
    'PERMISSION_DENIED',
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
  ],
  404: ['NOT_FOUND', 'Requested entity was not found.'],
  422: ['FAILED_PRECONDITION', 'Unprocessable.'],
  429: ['RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.'],
  500: ['INTERNAL', 'An internal error has occurred.'],
  503: ['UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  504: ['DEADLINE_EXCEEDED', 'The request timed out. Please try again.'],
}

/** Google has no 529: an overloaded model answers 503. */
export function googleFailure(status: number): Rejection {
  const code = status === 529 ? 503 : status
  const [type, message] = STATUSES[code] ?? STATUSES[500]!
  return { rule: 'G-00', status: code, type, message }
}

export const authoriseGoogle: VendorDouble<unknown>['authorise'] = (headers, query, apiKey) => {
  const key = headers['x-goog-api-key'] ?? query.get('key') ?? bearerKey(headers)
  if (!key) return googleFailure(403)
  if (apiKey === undefined || key === apiKey) return null
  return { ...googleFailure(400), message: 'API key not valid. Please pass a valid API key.' }
}
