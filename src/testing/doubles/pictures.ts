/**
 * What the vendors refuse about pictures that come in the request itself: kinds that they do not know, and bytes that are
 * no picture, or one of another kind than said. It judges bytes only; where pictures may stand is each vendor's own file.
 */

const MAGIC: readonly (readonly [bytes: RegExp, type: string])[] = [
  [/^89504e470d0a/, 'image/png'],
  [/^ffd8ff/, 'image/jpeg'],
  [/^47494638(?:37|39)61/, 'image/gif'],
  [/^52494646.{8}57454250/, 'image/webp'],
  [/^.{8}66747970(?:686569(?:63|78|6d|73)|686576(?:63|6d))/, 'image/heic'],
  [/^.{8}66747970(?:6d696631|6d736631)/, 'image/heif'],
]

/** The kind of picture that base64 text holds; `null` when it holds none. */
export function pictureKind(base64: string): string | null {
  const head = Buffer.from(base64.slice(0, 24), 'base64').toString('hex')
  return MAGIC.find(([bytes]) => bytes.test(head))?.[1] ?? null
}

/** A data URI in parts; `null` for any other address. */
export function dataUri(url: string): { type: string; base64: string } | null {
  const found = /^data:([^;,]*)(?:;[^,]*)?,/i.exec(url)
  return found === null ? null : { type: found[1] ?? '', base64: url.slice(found[0].length) }
}
