// What becomes of a tool's output before a model reads it, always in this order: checked against the declared
// schema, made well-formed and redacted, bounded, labelled with where it came from. It stays data throughout:
// nothing in it is interpreted, and nothing of it can pose as a vendor's own block.

import type { Finished, Tool, ToolOutput } from '../engine/ports.ts'
import type { Outcome, Provenance } from '../language/calls.ts'
import type { FilePart, ImagePart, ResultPart } from '../language/content.ts'
import { sha256 } from '../lib/hash.ts'
import type { Json, JsonObject } from '../lib/json.ts'
import { cutUtf8, wellFormed } from '../lib/text.ts'
import { checkerOf, describeIssues } from './arguments.ts'
import { bound } from './bound.ts'
import type { Redactor, Tally } from './redact.ts'

export type OutputSettings = {
  redactor: Redactor | null
  /** More than this is not taken at all: checking and redacting it would hold up everyone else. */
  maxOutputBytes: number
  /** Bytes of images and files that a result may carry. */
  mediaLimit: number
  /** Bytes of text that a client's own result may carry. */
  clientOutputLimit: number
}

type Checked = { kind: 'ok' | 'error'; parts: readonly ResultPart[]; structured?: Json }

export function finishTool(
  output: ToolOutput,
  tool: Pick<Tool, 'name' | 'output' | 'outputLimit'>,
  callId: string,
  settings: OutputSettings,
): Finished {
  const from: Provenance = { source: 'tool', tool: tool.name }
  const checked = checkOutput(output, tool, settings.maxOutputBytes)
  return compose(checked, from, tool.outputLimit, callId, settings)
}

export function finishClient(
  parts: readonly ResultPart[],
  failed: boolean,
  callId: string,
  settings: OutputSettings,
): Finished {
  const size = sizeOf(parts)
  const checked: Checked =
    size > settings.maxOutputBytes
      ? { kind: 'error', parts: [tooMuch('The client', size, settings.maxOutputBytes)] }
      : { kind: failed ? 'error' : 'ok', parts }
  return compose(checked, { source: 'client' }, settings.clientOutputLimit, callId, settings)
}

// ---- the check -----------------------------------------------------------------------------------------------

function checkOutput(
  output: ToolOutput,
  tool: Pick<Tool, 'name' | 'output'>,
  maxOutputBytes: number,
): Checked {
  const { parts, structured, failed } = output
  let size = sizeOf(parts)
  if (structured !== undefined && size <= maxOutputBytes) {
    const text = nestsWithin(structured, maxDepth) ? jsonText(structured) : undefined
    if (text === undefined)
      return misfit(
        tool.name,
        `Its structured result is not JSON, or nests deeper than ${maxDepth} levels.`,
        parts,
      )
    size += text.length
  }
  if (size > maxOutputBytes)
    return { kind: 'error', parts: [tooMuch(`The tool "${tool.name}" ran, but it`, size, maxOutputBytes)] }
  // A tool that failed owes no result of the declared shape.
  if (failed === true || tool.output === undefined) {
    const kind = failed === true ? 'error' : 'ok'
    return structured === undefined ? { kind, parts } : { kind, parts, structured }
  }
  if (structured === undefined)
    return misfit(tool.name, 'It declares an output schema, but gave no structured result.', parts)
  const problem = schemaProblem(tool.output, structured)
  return problem === null ? { kind: 'ok', parts, structured } : misfit(tool.name, problem, parts)
}

function schemaProblem(schema: JsonObject, structured: Json): string | null {
  try {
    const issues = checkerOf(schema).check(structured)
    return issues === null ? null : `It does not fit the declared output schema:\n${describeIssues(issues)}`
  } catch (error) {
    const cause = error instanceof Error ? ` ${cutUtf8(error.message, 500).text}` : ''
    return `The output schema it declares cannot be used.${cause}`
  }
}

/** The tool did run, so what it gave is still shown: the model must be able to see what has happened. */
function misfit(name: string, problem: string, parts: readonly ResultPart[]): Checked {
  const text = `The tool "${name}" ran, but its result is not what it promised. ${problem}`
  return { kind: 'error', parts: [{ type: 'text', text }, ...parts] }
}

function tooMuch(who: string, size: number, most: number): ResultPart {
  return {
    type: 'text',
    text: `${who} gave a result of more than ${most} bytes (about ${size}), which is too large to take. Nothing of it was kept. Ask for less.`,
  }
}

function sizeOf(parts: readonly ResultPart[]): number {
  let size = 0
  for (const part of parts) size += part.type === 'text' ? part.text.length : part.url.length
  return size
}

/** So that whatever walks the result later need not fear for its stack. */
const maxDepth = 200

function nestsWithin(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  for (const item of Object.values(value)) if (!nestsWithin(item, levels - 1)) return false
  return true
}

/** Undefined when there is no such text, as for a bigint. */
function jsonText(value: Json): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

// ---- the making ----------------------------------------------------------------------------------------------

function compose(
  checked: Checked,
  from: Provenance,
  textLimit: number,
  callId: string,
  settings: OutputSettings,
): Finished {
  const tally: Tally = { count: 0 }
  const clean = checked.parts.map(part => cleanPart(part, settings.redactor, tally))
  const whole = clean.every(holdsAnything) ? clean : clean.filter(holdsAnything)
  const structured = placeStructured(checked.structured, whole, textLimit, settings.redactor, tally)
  const { parts, leftOut } = bound(whole, { text: textLimit, media: settings.mediaLimit }, callId)
  const kept = leftOut > 0 ? keep(whole, callId) : undefined
  const outcome: Outcome = { kind: checked.kind, parts: saidInWords(parts, checked.kind), from }
  if (structured !== undefined) outcome.structured = structured
  if (kept) outcome.cut = { bytes: leftOut, blob: kept.name }
  if (tally.count > 0) outcome.redactions = tally.count
  return kept ? { outcome, blob: kept } : { outcome }
}

function holdsAnything(part: ResultPart): boolean {
  return part.type !== 'text' || part.text !== ''
}

/** Named by what it holds: a second result for the same call, refused as it will be, cannot replace the first. */
function keep(whole: readonly ResultPart[], callId: string): { name: string; body: string } {
  const body = JSON.stringify(whole)
  return { name: `${callId}.${sha256(body).slice(0, 16)}`, body }
}

/**
 * A structured result above the limit is left out; its text joins the parts, unless it stands there already, and
 * is bounded with them.
 */
function placeStructured(
  value: Json | undefined,
  whole: ResultPart[],
  textLimit: number,
  redactor: Redactor | null,
  tally: Tally,
): Json | undefined {
  if (value === undefined) return undefined
  const clean = cleanJson(value, redactor, tally)
  const text = JSON.stringify(clean)
  if (Buffer.byteLength(text) <= textLimit) return clean
  if (!whole.some(part => part.type === 'text' && part.text === text)) whole.push({ type: 'text', text })
  return undefined
}

/** Vendors refuse empty results, and a model reads nothing into silence. */
function saidInWords(parts: ResultPart[], kind: 'ok' | 'error'): ResultPart[] {
  const says = parts.some(part => part.type !== 'text' || /\S/.test(part.text))
  if (says) return parts
  if (parts.length > 0) return [{ type: 'text', text: '(the output is nothing but whitespace)' }]
  return [{ type: 'text', text: kind === 'ok' ? '(no output)' : '(it failed without saying why)' }]
}

// ---- one part ------------------------------------------------------------------------------------------------

/** Made anew, member by member: a `native` block that came with it must never reach a vendor as its own. */
function cleanPart(part: ResultPart, redactor: Redactor | null, tally: Tally): ResultPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: cleanText(part.text, redactor, tally) }
    case 'image':
    case 'file':
      return cleanMedia(part, redactor, tally)
    default: {
      const { type }: { type: unknown } = part
      return { type: 'text', text: `[a part of the unknown type ${quoted(type)} was left out]` }
    }
  }
}

function cleanText(text: string, redactor: Redactor | null, tally: Tally): string {
  const sound = wellFormed(text)
  return redactor === null ? sound : redactor(sound, tally)
}

const maxAddress = 8 * 1024
const maxName = 255
const mediaTypePattern = /^[a-z0-9][a-z0-9.+-]{0,126}\/[a-z0-9][a-z0-9.+-]{0,126}$/i

function cleanMedia(part: ImagePart | FilePart, redactor: Redactor | null, tally: Tally): ResultPart {
  const url = cleanUrl(part, redactor, tally)
  if (url === undefined) return { type: 'text', text: `[${part.type} left out: ${whyNot(part.url)}]` }
  if (part.type === 'image') return { type: 'image', url }
  const mediaType = mediaTypePattern.test(part.mediaType) ? part.mediaType : 'application/octet-stream'
  if (part.name === undefined) return { type: 'file', url, mediaType }
  return { type: 'file', url, mediaType, name: cutUtf8(cleanText(part.name, redactor, tally), maxName).text }
}

function cleanUrl(part: ImagePart | FilePart, redactor: Redactor | null, tally: Tally): string | undefined {
  const { url } = part
  if (/^https:\/\//i.test(url)) return url.length > maxAddress ? undefined : cleanText(url, redactor, tally)
  const data = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)(?:;charset=[a-z0-9-]{1,40})?;base64,/i.exec(url)
  if (data === null || (part.type === 'image' && !data[1]!.toLowerCase().startsWith('image/')))
    return undefined
  const start = data[0].length
  if (!isBase64(url, start)) return undefined
  if (redactor === null || !holdsText(data[1]!)) return url
  const before = tally.count
  const text = redactor(Buffer.from(url.slice(start), 'base64').toString(), tally)
  return tally.count === before ? url : data[0] + Buffer.from(text).toString('base64')
}

function holdsText(mediaType: string): boolean {
  return /^text\/|[/+](?:json|xml|yaml|x-yaml|javascript|x-sh)$/i.test(mediaType)
}

const notBase64 = /[^A-Za-z0-9+/=]/g

function isBase64(url: string, start: number): boolean {
  notBase64.lastIndex = start
  return !notBase64.test(url)
}

function whyNot(url: string): string {
  if (/^https:\/\//i.test(url)) return `its address is longer than ${maxAddress} characters`
  return 'only https: addresses and data: URIs in base64 of the right type are passed on'
}

// ---- structured results ----------------------------------------------------------------------------------------

/** Gives the value itself when nothing in it changes. Its depth was checked before. */
function cleanJson(value: Json, redactor: Redactor | null, tally: Tally): Json {
  if (typeof value === 'string') return cleanText(value, redactor, tally)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(item => cleanJson(item, redactor, tally))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  let changed = false
  const entries = Object.entries(value).map(([key, item]): [string, Json] => {
    const entry: [string, Json] = [cleanText(key, redactor, tally), cleanJson(item, redactor, tally)]
    changed ||= entry[0] !== key || entry[1] !== item
    return entry
  })
  // fromEntries defines members rather than assigning them, so `__proto__` stays data.
  return changed ? Object.fromEntries(entries) : value
}

function quoted(value: unknown): string {
  return JSON.stringify(cutUtf8(String(value), 40).text)
}
