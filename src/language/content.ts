// The content of messages and results, as plain data from which every vendor's form can be made. It has no vendor's field
// names. Data that only its vendor understands is kept beside the neutral form, in `native`.
import { isJsonObject, type Json } from '../lib/json/index.ts'

/** The protocol and model family that made a piece of content. Native data is sent back to the same two only. */
export type Origin = { protocol: string; family: string }

/** The vendor's own block, kept byte for byte (signatures, encrypted reasoning, ids). */
export type Native = { origin: Origin; data: Json }

/** The role of a message within an answer: a remark while the model works, or the answer itself. */
export type Phase = 'commentary' | 'final_answer'

/** `phase`: of an answer's text, where the vendor says it. `attached`: of a user's message, what a file, a
 * resource or the task of another agent says. */
export type TextPart = { type: 'text'; text: string; phase?: Phase; attached?: true; native?: Native }
export type ThinkingPart = { type: 'thinking'; text: string; native?: Native }
/** `url` is `https:` or a `data:` URI in base64. */
export type ImagePart = { type: 'image'; url: string; native?: Native }
export type FilePart = { type: 'file'; url: string; mediaType: string; name?: string; native?: Native }
/** A tool that the vendor ran on its own side. It is shown, and sent back to the vendor, but never run here. */
export type HostedPart = { type: 'hosted'; tool: string; summary: string; native: Native }

export type InputPart = TextPart | ImagePart | FilePart
export type ResultPart = TextPart | ImagePart | FilePart

export function isResultPart(value: unknown): value is ResultPart {
  if (!isJsonObject(value)) return false
  const { type, text, url, mediaType, name } = value
  if (type === 'text') return typeof text === 'string'
  if (type === 'image') return typeof url === 'string'
  return (
    type === 'file' &&
    typeof url === 'string' &&
    typeof mediaType === 'string' &&
    (name === undefined || typeof name === 'string')
  )
}

/** Words of the user's own: not what a file, a picture or a resource says that was attached. */
export function isSpoken(part: InputPart): part is TextPart {
  return part.type === 'text' && !part.attached
}

export function joinText(parts: readonly { type: string; text?: string }[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text') text += part.text ?? ''
  return text
}
