// Repairs pictures that a vendor refuses: the type is corrected from the bytes, and a picture of no accepted type becomes
// text. The vendors' forms are data.

import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts'
import { inlineOf, pictureOf } from '../common/media.ts'
import { asText, type Repair } from './repair.ts'

type PictureForm = {
  takes: ReadonlySet<string>
  /** The picture of a part as a data URI; undefined for any other part. */
  read(part: JsonObject): string | undefined
  write(mediaType: string, base64: string): JsonObject
  words: JsonObject
}

const common = ['image/png', 'image/jpeg', 'image/webp']
const western: ReadonlySet<string> = new Set([...common, 'image/gif'])
const google: ReadonlySet<string> = new Set([...common, 'image/heic', 'image/heif'])
const uri = (type: Json | undefined, data: Json | undefined): string =>
  `data:${asText(type)};base64,${asText(data)}`

const pictureForms = {
  anthropic: {
    takes: western,
    read: ({ type, source }) =>
      type === 'image' && isJsonObject(source) && source['type'] === 'base64'
        ? uri(source['media_type'], source['data'])
        : undefined,
    write: (media_type, data) => ({ type: 'image', source: { type: 'base64', media_type, data } }),
    words: { type: 'text', text: '[image]' },
  },
  responses: {
    takes: western,
    read: ({ type, image_url }) => (type === 'input_image' ? asText(image_url) : undefined),
    write: (type, data) => ({ type: 'input_image', image_url: uri(type, data), detail: 'auto' }),
    words: { type: 'input_text', text: '[image]' },
  },
  chat: {
    takes: western,
    read: ({ type, image_url }) =>
      type === 'image_url' ? asText(isJsonObject(image_url) ? image_url['url'] : image_url) : undefined,
    write: (type, data) => ({ type: 'image_url', image_url: { url: uri(type, data) } }),
    words: { type: 'text', text: '[image]' },
  },
  gemini: {
    takes: google,
    read(part) {
      const data = part['inlineData'] ?? part['inline_data']
      const type = isJsonObject(data) ? asText(data['mimeType'] ?? data['mime_type']) : ''
      return isJsonObject(data) && type.startsWith('image/') ? uri(type, data['data']) : undefined
    },
    write: (mimeType, data) => ({ inlineData: { mimeType, data } }),
    words: { text: '[image]' },
  },
  interactions: {
    takes: google,
    read: ({ type, mime_type, data }) =>
      type === 'image' && typeof data === 'string' ? uri(mime_type, data) : undefined,
    write: (mime_type, data) => ({ type: 'image', mime_type, data }),
    words: { type: 'text', text: '[image]' },
  },
} satisfies Record<string, PictureForm>

export function fixPictures(vendor: keyof typeof pictureForms): Repair['apply'] {
  const form: PictureForm = pictureForms[vendor]
  return (body, report) => {
    const visit = (value: Json): Json => {
      if (Array.isArray(value)) return value.map(visit)
      if (!isJsonObject(value)) return value
      const url = form.read(value)
      if (url?.startsWith('data:')) return fixedPicture(form, value, url, report)
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, visit(each)]))
    }
    for (const [key, value] of Object.entries(body)) body[key] = visit(value)
  }
}

function fixedPicture(
  form: PictureForm,
  part: JsonObject,
  url: string,
  report: (change: string) => void,
): JsonObject {
  const picture = pictureOf(inlineOf({ type: 'image', url }), form.takes)
  if (picture === undefined) {
    report('Replaced a picture that this vendor cannot read with text.')
    return form.words
  }
  if (url === `data:${picture.mediaType};base64,${picture.base64}`) return part
  report(`Corrected the type of a picture to ${picture.mediaType}, which its bytes show.`)
  return form.write(picture.mediaType, picture.base64)
}
