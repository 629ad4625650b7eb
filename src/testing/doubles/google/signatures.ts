// Shared by both Google APIs: which models sign their thoughts, stand-in signatures, names of functions, and pictures.
import { pictureKind } from '../pictures.ts'
import { asString } from '../shape.ts'

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
