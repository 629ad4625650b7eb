// Content blocks of a client: text, and images if the agent takes them. Calls and thinking occur in assistant messages only,
// which a client sends only as seeded history.
import type { AgentInfo } from '../../engine/index.ts'
import type { CallPart } from '../../language/calls.ts'
import type { ImagePart, InputPart } from '../../language/content.ts'
import type { AnswerPart } from '../../language/history.ts'
import type { Json, JsonObject } from '../../lib/json/index.ts'
import { callIdField, list, object, refuseAap, text } from './wordings.ts'

/** The content of a user's message or of a tool's result. */
export function decodeParts(
  content: Json | undefined,
  where: string,
  images: AgentInfo['images'],
): InputPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) refuseAap(`${where} must be a string or a list of content blocks.`)
  const parts: InputPart[] = []
  for (const [index, item] of content.entries()) {
    const at = `${where}[${index}]`
    const block = object(item, at)
    if (block['type'] === 'image') parts.push(decodeImage(block, at, images))
    else if (block['type'] !== 'text') refuseAap(`${at}.type must be "text" or "image" here.`)
    else if (text(block['text'], `${at}.text`) !== '')
      parts.push({
        type: 'text',
        text: text(block['text'], `${at}.text`),
        ...(block['attached'] === true && { attached: true }),
      })
  }
  return parts
}

const longestAddress = 8192

function decodeImage(block: JsonObject, where: string, images: AgentInfo['images']): ImagePart {
  const url = text(block['url'], `${where}.url`)
  if (/^data:/i.test(url)) {
    if (!images.data) refuseAap(`${where}: this agent takes no images as data: URIs.`)
    if (!/^data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/]+={0,2}$/i.test(url))
      refuseAap(`${where}.url must be a data: URI of an image in base64.`)
    return { type: 'image', url }
  }
  if (!/^https:\/\//i.test(url) || url.length > longestAddress || !URL.canParse(url))
    refuseAap(
      `${where}.url must be an https:// address of at most ${longestAddress} characters, or a data: URI.`,
    )
  if (!images.http) refuseAap(`${where}: this agent takes no images by address.`)
  return { type: 'image', url }
}

/** The content of an assistant's message in seeded history. */
export function decodeAssistant(content: Json | undefined, where: string, agent: AgentInfo): AnswerPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return list(content, where).map((item, index) => {
    const at = `${where}[${index}]`
    const block = object(item, at)
    switch (block['type']) {
      case 'text':
        return { type: 'text', text: text(block['text'], `${at}.text`) }
      case 'thinking':
        return { type: 'thinking', text: text(block['thinking'], `${at}.thinking`) }
      case 'tool_use':
        return decodeCall(block, at, agent)
      default:
        return refuseAap(`${at}.type must be "text", "thinking" or "tool_use" in an assistant message.`)
    }
  })
}

function decodeCall(block: JsonObject, where: string, agent: AgentInfo): CallPart {
  const name = text(block['name'], `${where}.name`)
  const input = object(block['input'], `${where}.input`)
  const form = agent.tools.find(tool => tool.name === name)?.input.form ?? 'json'
  const id = callIdField(block['toolCallId'], `${where}.toolCallId`)
  const written = decodeArguments(input, form)
  return written === undefined
    ? { type: 'call', id, name, form: 'json', text: JSON.stringify(input) }
    : { type: 'call', id, name, form, text: written }
}

/** The arguments as a model would write them. Those of a free-text tool are in `input.input`; undefined if they are not. */
function decodeArguments(input: JsonObject, form: 'json' | 'text'): string | undefined {
  if (form === 'json') return JSON.stringify(input)
  const { input: written, ...others } = input
  return typeof written === 'string' && Object.keys(others).length === 0 ? written : undefined
}
