// Judges the bytes of pictures that come in the request itself: what kind of picture they are, if any.
// The vendors' rules decide where a picture may stand and in which words it is refused.

/** The kinds that Anthropic and OpenAI read. Google has a list of its own. */
export const WEB_PICTURES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

const MAGIC: readonly (readonly [bytes: RegExp, type: string])[] = [
  [/^89504e470d0a/, 'image/png'],
  [/^ffd8ff/, 'image/jpeg'],
  [/^47494638(?:37|39)61/, 'image/gif'],
  [/^52494646.{8}57454250/, 'image/webp'],
  [/^.{8}66747970(?:686569(?:63|78|6d|73)|686576(?:63|6d))/, 'image/heic'],
  [/^.{8}66747970(?:6d696631|6d736631)/, 'image/heif'],
]

/** The kind of picture that base64 text holds, or `null` when it holds none. */
export function pictureKind(base64: string): string | null {
  const head = Buffer.from(base64.slice(0, 24), 'base64').toString('hex')
  return MAGIC.find(([bytes]) => bytes.test(head))?.[1] ?? null
}

/** The base64 text of a data URI, or `null` for any other address. */
export function dataUriContent(url: string): string | null {
  const found = /^data:[^;,]*(?:;[^,]*)?,/i.exec(url)
  return found === null ? null : url.slice(found[0].length)
}
