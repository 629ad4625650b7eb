// Shared by both Google APIs: keys, failures of the service, which models sign their thoughts, names of functions, pictures.
import { statusName } from '../../../apis/gemini/wordings.ts'
import { bearerKey, type VendorDouble } from '../double.ts'
import { pictureKind } from '../pictures.ts'
import type { Rejection } from '../script.ts'
import { asString } from '../shape.ts'

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

/** Accepted in place of a signature for history that another model wrote. */
export const DUMMY_SIGNATURES: readonly string[] = [
  'skip_thought_signature_validator',
  'context_engineering_is_the_way_to_go',
]

/** Gemini 3 asks for signatures. A model whose name has no version counts as one. */
export const needsSignatures = (model: string): boolean => !/gemini-(1|2)[.-]/.test(model)

/** Holds for declarations, calls and results alike. */
export const isGoogleName = (name: string, maxLength = 64): boolean =>
  name.length <= maxLength && /^[a-zA-Z_][a-zA-Z0-9_.:-]*$/.test(name)

const GOOGLE_PICTURES = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif']

/** Problems of a picture, by its declared type and its bytes. Other kinds of data are not judged. */
export function googlePictureProblem(type: unknown, data: unknown): string | null {
  const declared = asString(type)
  if (!declared.startsWith('image/')) return null
  if (!GOOGLE_PICTURES.includes(declared)) return `Unsupported MIME type: ${declared}`
  if (GOOGLE_PICTURES.includes(pictureKind(asString(data)) ?? '')) return null
  return 'Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting'
}
