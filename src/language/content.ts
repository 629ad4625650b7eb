// What people, models and tools say, as plain data that every vendor's form can be made from. It holds no
// vendor's field names: what only its maker understands travels beside the neutral form, in `native`.
import type { Json } from '../lib/json.ts'

/** Who made a piece of content: artifacts go back to the same protocol and model family only. */
export type Origin = { protocol: string; family: string }

/** The maker's own block, kept byte for byte (signatures, encrypted reasoning, ids of its own). */
export type Native = { origin: Origin; data: Json }

export type TextPart = { type: 'text'; text: string; native?: Native }
export type ThinkingPart = { type: 'thinking'; text: string; native?: Native }
/** `url` is `https:` or a `data:` URI in base64. */
export type ImagePart = { type: 'image'; url: string }
export type FilePart = { type: 'file'; url: string; mediaType: string; name?: string }
/** A tool that the vendor ran on its own side: shown, echoed back to its maker, never run by us. */
export type HostedPart = { type: 'hosted'; tool: string; summary: string; native: Native }

export type InputPart = TextPart | ImagePart | FilePart
export type ResultPart = TextPart | ImagePart | FilePart

export function textOf(parts: readonly { type: string; text?: string }[]): string {
  let text = ''
  for (const part of parts) if (part.type === 'text') text += part.text ?? ''
  return text
}
