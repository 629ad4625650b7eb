// The content of messages and of tool outputs, into ours. Images and files come in two forms: the fields of the Responses
// API (`image_url`, `file_data`, `file_url`) and a `source` object. Images that an agent does not take are refused.

import { refuseParameter, unsupportedParameterValue, wrongParameterType } from '../../apis/openai/refusal.ts'
import type { AgentInfo } from '../../engine/index.ts'
import type { FilePart, ImagePart, InputPart } from '../../language/content.ts'
import { isAbsent, names, optional } from '../../lib/json/fields.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { filePart, imagePart } from '../stateless/index.ts'
import { field, unsupportedParameter } from './wordings.ts'

const inputTextFields = names('type text')
/** The official SDK adds `parsed`, and sends it back with the rest. */
const outputTextFields = names('type text annotations logprobs parsed')
const refusalFields = names('type refusal')
const imageFields = names('type image_url file_id detail source')
const fileFields = names('type file_data file_url file_id filename detail source')
const sourceFields = names('type url media_type data filename')

/** The content of a user's message, or of a tool's output. */
export function decodeInputParts(
  value: Json | undefined,
  path: string,
  images: AgentInfo['images'],
): InputPart[] {
  if (typeof value === 'string') return value === '' ? [] : [{ type: 'text', text: value }]
  if (!Array.isArray(value))
    throw wrongParameterType(path, 'one of a string or array of content parts', value ?? null)
  return value.flatMap((item, index): InputPart[] => {
    const at = `${path}[${index}]`
    const part = field.object(item, at)
    const { type } = part
    switch (type) {
      case 'input_text':
      case 'output_text':
      case 'text': {
        field.onlyKnown(part, type === 'output_text' ? outputTextFields : inputTextFields, at)
        const content = field.text(part['text'], `${at}.text`)
        return content === '' ? [] : [{ type: 'text', text: content }]
      }
      case 'input_image':
        return [decodeImage(part, at, images)]
      case 'input_file':
        return [decodeFile(part, at)]
      default:
        throw unsupportedParameterValue(`${at}.type`, type, ['input_text', 'input_image', 'input_file'])
    }
  })
}

/** The text of a system, developer or assistant message. */
export function decodeMessageText(value: Json | undefined, path: string): string {
  if (typeof value === 'string') return value
  return field
    .objects(value, path, (part, at) => {
      const type = field.oneOf(part['type'] ?? null, `${at}.type`, [
        'input_text',
        'output_text',
        'text',
        'refusal',
      ])
      field.onlyKnown(part, type === 'refusal' ? refusalFields : outputTextFields, at)
      const member = type === 'refusal' ? 'refusal' : 'text'
      return field.text(part[member], `${at}.${member}`)
    })
    .join('')
}

// ---- images and files ----------------------------------------------------------------------------------------

/** `at`: the path of the field that has the address or the data. */
type Media = { url: string; at: string; name?: string | undefined }

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const

function decodeImage(part: JsonObject, path: string, images: AgentInfo['images']): ImagePart {
  field.onlyKnown(part, imageFields, path)
  const at = `${path}.image_url`
  const media = decodeSource(part, path, (type, typePath) => field.oneOf(type ?? null, typePath, imageTypes))
  const image = media ?? { url: field.text(part['image_url'], at), at }
  return imagePart(image.url, images, refuseMedia(image.at))
}

function decodeFile(part: JsonObject, path: string): FilePart {
  field.onlyKnown(part, fileFields, path)
  const { url, at, name } = decodeSource(part, path, field.text) ?? flatFile(part, path)
  const refuse = refuseMedia(at)
  if (!/^data:/i.test(url)) return filePart(url, typeByName(url.replace(/[?#].*/, '')), name, refuse)
  const mediaType = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)[;,]/i.exec(url)?.[1]
  return filePart(url, mediaType ?? refuse('Expected data with a media type.'), name, refuse)
}

function refuseMedia(at: string): (reason: string) => never {
  return reason => refuseParameter(`Invalid '${at}'. ${reason}`, at)
}

function flatFile(part: JsonObject, path: string): Media {
  const name = optional(part['filename'], `${path}.filename`, field.text)
  const isUrl = !isAbsent(part['file_url'])
  const at = isUrl ? `${path}.file_url` : `${path}.file_data`
  const given = field.text(isUrl ? part['file_url'] : part['file_data'], at)
  const isWhole = isUrl || /^data:/i.test(given)
  return { url: isWhole ? given : `data:${typeByName(name ?? '')};base64,${given}`, at, name }
}

/** Undefined when the part has no `source`. */
function decodeSource(
  part: JsonObject,
  path: string,
  readType: (value: Json | undefined, path: string) => string,
): Media | undefined {
  if (!isAbsent(part['file_id']))
    unsupportedParameter(`${path}.file_id`, ' No files are kept here: send the data, or an https:// address.')
  if (part['source'] === undefined) return undefined
  const at = `${path}.source`
  const source = field.object(part['source'], at)
  field.onlyKnown(source, sourceFields, at)
  const name = optional(source['filename'], `${at}.filename`, field.text)
  if (field.oneOf(source['type'] ?? null, `${at}.type`, ['url', 'base64']) === 'url')
    return { url: field.text(source['url'], `${at}.url`), at: `${at}.url`, name }
  const type = readType(source['media_type'], `${at}.media_type`)
  return {
    url: `data:${type};base64,${field.text(source['data'], `${at}.data`)}`,
    at: `${at}.data`,
    name,
  }
}

const fileTypes: ReadonlyMap<string, string> = new Map([
  ['pdf', 'application/pdf'],
  ['txt', 'text/plain'],
  ['md', 'text/markdown'],
  ['csv', 'text/csv'],
  ['json', 'application/json'],
  ['html', 'text/html'],
])

function typeByName(name: string): string {
  const ending = /\.([a-z0-9]+)$/i.exec(name)?.[1]?.toLowerCase() ?? ''
  return fileTypes.get(ending) ?? 'application/octet-stream'
}
