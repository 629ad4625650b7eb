// Prepares a tool's output for the model, always in this order: check against the declared schema, make well-formed and
// redact, cut to the limits, label with its source. The output stays data: nothing in it is interpreted, and nothing in
// it can pass as a vendor's own block.

import type { Finished, Tool, ToolOutput } from '../engine/ports/index.ts'
import { mostSources, type Outcome, type Provenance } from '../language/calls.ts'
import type { FilePart, ImagePart, ResultPart } from '../language/content.ts'
import type { Checked as Fit } from '../lib/checks/index.ts'
import { sha256 } from '../lib/json/hash.ts'
import type { Json } from '../lib/json/index.ts'
import type { SchemaIssue } from '../lib/schema/index.ts'
import { cutUtf8, quote } from '../lib/text/index.ts'
import { type CompiledSchemas, describeIssues } from './arguments.ts'
import { bound } from './bound.ts'
import type { Redactor, Tally } from './redact.ts'
import { finishReport } from './report.ts'

export type OutputSettings = {
  compiled: CompiledSchemas
  redactor: Redactor | null
  /** A larger result is refused, because checking and redacting it would block the event loop. */
  maxOutputBytes: number
  /** Bytes of images and files that a result may carry. */
  mediaLimit: number
  /** Bytes of text that a client's own result may carry. */
  clientOutputLimit: number
}

/** `produced`: the size of a result of which nothing is kept. */
type CheckedOutput = {
  kind: 'ok' | 'error'
  parts: readonly ResultPart[]
  structured?: Json
  produced?: number
}

export function finishTool(
  output: ToolOutput,
  tool: Pick<Tool, 'name' | 'output' | 'outputLimit'>,
  callId: string,
  settings: OutputSettings,
  owner: string,
): Finished | Promise<Finished> {
  const from: Provenance = { source: 'tool', tool: tool.name }
  const finish = (checked: CheckedOutput): Finished => {
    const finished = compose(checked, from, tool.outputLimit, callId, settings)
    if (output.details !== undefined) addDetails(finished, output.details, settings)
    // The engine, which has a clock, says when.
    if (output.sources && output.sources.length > 0)
      finished.outcome.provenance = {
        sources: output.sources.slice(0, mostSources).map(source => ({ ...source, at: 0 })),
      }
    if (output.report) finished.outcome.report = finishReport(output.report, settings.redactor)
    if (checked.kind === 'ok' && output.loads && output.loads.length > 0)
      finished.outcome.loads = [...output.loads]
    return finished
  }
  const checked = checkOutput(output, tool, settings, owner)
  return checked instanceof Promise ? checked.then(finish) : finish(checked)
}

export function finishClient(
  parts: readonly ResultPart[],
  failed: boolean,
  callId: string,
  settings: OutputSettings,
): Finished {
  const size = partsSize(parts)
  const checked: CheckedOutput =
    size > settings.maxOutputBytes
      ? { kind: 'error', parts: [tooMuch('The client', size, settings.maxOutputBytes)], produced: size }
      : { kind: failed ? 'error' : 'ok', parts }
  return compose(checked, { source: 'client' }, settings.clientOutputLimit, callId, settings)
}

// ---- the check -----------------------------------------------------------------------------------------------

function checkOutput(
  output: ToolOutput,
  tool: Pick<Tool, 'name' | 'output'>,
  { compiled, maxOutputBytes }: OutputSettings,
  owner: string,
): CheckedOutput | Promise<CheckedOutput> {
  const { parts, structured, failed } = output
  let size = partsSize(parts)
  let text: string | undefined
  if (structured !== undefined && size <= maxOutputBytes) {
    text = nestsWithin(structured, maxDepth) ? jsonText(structured) : undefined
    if (text === undefined)
      return brokenPromise(
        tool.name,
        `Its structured result is not JSON, or nests deeper than ${maxDepth} levels.`,
        parts,
      )
    size += text.length
  }
  if (size > maxOutputBytes)
    return {
      kind: 'error',
      parts: [tooMuch(`The tool "${tool.name}" ran, but it`, size, maxOutputBytes)],
      produced: size,
    }
  // A tool that failed need not return a result of the declared shape.
  if (failed === true || tool.output === undefined) {
    const kind = failed === true ? 'error' : 'ok'
    return structured === undefined ? { kind, parts } : { kind, parts, structured }
  }
  if (structured === undefined)
    return brokenPromise(tool.name, 'It declares an output schema, but gave no structured result.', parts)
  const judge = (problem: string | null): CheckedOutput =>
    problem === null ? { kind: 'ok', parts, structured } : brokenPromise(tool.name, problem, parts)
  try {
    const fit = compiled.checker(tool.output).check(structured, text ?? '', owner)
    if (fit instanceof Promise) return fit.then(schemaProblem).catch(schemaUnusable).then(judge)
    return judge(schemaProblem(fit))
  } catch (error) {
    return judge(schemaUnusable(error))
  }
}

function schemaProblem(fit: Fit<SchemaIssue[]>): string | null {
  if (fit === null) return null
  return 'refused' in fit
    ? `Checking it against the declared output schema ${fit.refused}.`
    : `It does not fit the declared output schema:\n${describeIssues(fit)}`
}

function schemaUnusable(error: unknown): string {
  const cause = error instanceof Error ? ` ${cutUtf8(error.message, 500).text}` : ''
  return `The output schema it declares cannot be used.${cause}`
}

/** The tool ran, so its result is still shown: the model must see what has happened. */
function brokenPromise(name: string, problem: string, parts: readonly ResultPart[]): CheckedOutput {
  const text = `The tool "${name}" ran, but its result is not what it promised. ${problem}`
  return { kind: 'error', parts: [{ type: 'text', text }, ...parts] }
}

function tooMuch(who: string, size: number, most: number): ResultPart {
  return {
    type: 'text',
    text: `${who} gave a result of more than ${most} bytes (about ${size}), which is too large to take. Nothing of it was kept. Ask for less.`,
  }
}

function partsSize(parts: readonly ResultPart[]): number {
  let size = 0
  for (const part of parts) size += part.type === 'text' ? part.text.length : part.url.length
  return size
}

/** It is text alone, and within the limit without counting: a code unit takes at most three bytes. */
function isSmall(parts: readonly ResultPart[], textLimit: number): boolean {
  let most = 0
  for (const part of parts) most += part.type === 'text' ? part.text.length * 3 : Number.POSITIVE_INFINITY
  return most <= textLimit
}

/** Keeps recursive walks over the result within the stack. */
const maxDepth = 200

function nestsWithin(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  for (const item of Object.values(value)) if (!nestsWithin(item, levels - 1)) return false
  return true
}

/** Undefined when the value has no JSON text, such as a bigint. */
function jsonText(value: Json): string | undefined {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

// ---- the outcome ---------------------------------------------------------------------------------------------

function compose(
  checked: CheckedOutput,
  from: Provenance,
  textLimit: number,
  callId: string,
  settings: OutputSettings,
): Finished {
  const tally: Tally = { count: 0 }
  const whole: ResultPart[] = []
  for (const part of checked.parts) {
    const clean = cleanPart(part, settings.redactor, tally)
    if (clean.type !== 'text' || clean.text !== '') whole.push(clean)
  }
  const structured =
    checked.structured === undefined
      ? undefined
      : placeStructured(checked.structured, whole, textLimit, settings.redactor, tally)
  const limits = { text: textLimit, media: settings.mediaLimit }
  const { parts, leftOut } = isSmall(whole, textLimit)
    ? { parts: whole, leftOut: 0 }
    : bound(whole, limits, callId, from.source === 'tool')
  const kept = leftOut > 0 ? wholeBlob(whole, callId) : undefined
  const outcome: Outcome = { kind: checked.kind, parts: neverEmpty(parts, checked.kind), from }
  if (structured !== undefined) outcome.structured = structured
  if (kept) {
    outcome.cut = { bytes: leftOut, blob: kept.name }
    outcome.produced = partsSize(whole)
  }
  if (checked.produced !== undefined) outcome.produced = checked.produced
  if (tally.count > 0) outcome.redactions = tally.count
  return kept ? { outcome, blob: kept } : { outcome }
}

const mostDetails = 256 * 1024

/** Redacted like the result, and left out whole if they are too large or no JSON. */
function addDetails({ outcome }: Finished, details: Json, { redactor }: OutputSettings): void {
  const text = nestsWithin(details, maxDepth) ? jsonText(details) : undefined
  if (text === undefined || text.length > mostDetails) {
    outcome.detailsCut = text?.length ?? 0
    return
  }
  const tally: Tally = { count: 0 }
  outcome.details = cleanJson(details, redactor, tally)
  if (tally.count > 0) outcome.redactions = (outcome.redactions ?? 0) + tally.count
}

/** Named by its content, so that a second result for the same call, which is refused later, cannot replace the first. */
function wholeBlob(whole: readonly ResultPart[], callId: string): { name: string; body: string } {
  const body = JSON.stringify(whole)
  return { name: `${callId}.${sha256(body).slice(0, 16)}`, body }
}

/**
 * Returns the structured result if it is within the limit. Otherwise its text is added to the parts, unless it is there
 * already, and is cut with them.
 */
function placeStructured(
  value: Json,
  whole: ResultPart[],
  textLimit: number,
  redactor: Redactor | null,
  tally: Tally,
): Json | undefined {
  const clean = cleanJson(value, redactor, tally)
  const text = JSON.stringify(clean)
  if (Buffer.byteLength(text) <= textLimit) return clean
  if (!whole.some(part => part.type === 'text' && part.text === text)) whole.push({ type: 'text', text })
  return undefined
}

/** Vendors refuse empty results, so an empty one becomes a text that says so. */
function neverEmpty(parts: ResultPart[], kind: 'ok' | 'error'): ResultPart[] {
  if (parts.some(part => part.type !== 'text' || /\S/.test(part.text))) return parts
  if (parts.length > 0) return [{ type: 'text', text: '(the output is nothing but whitespace)' }]
  return [{ type: 'text', text: kind === 'ok' ? '(no output)' : '(it failed without saying why)' }]
}

// ---- one part ------------------------------------------------------------------------------------------------

/** Copies only the known members, so that a `native` block in a result never reaches a vendor as its own. */
function cleanPart(part: ResultPart, redactor: Redactor | null, tally: Tally): ResultPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: cleanText(part.text, redactor, tally) }
    case 'image':
    case 'file':
      return cleanMedia(part, redactor, tally)
    default: {
      const { type }: { type: unknown } = part
      return { type: 'text', text: `[a part of the unknown type ${quote(type, 40)} was left out]` }
    }
  }
}

function cleanText(text: string, redactor: Redactor | null, tally: Tally): string {
  const sound = text.toWellFormed()
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

/** Returns the value itself when nothing in it changes. Its depth was checked before. */
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
  // fromEntries defines members instead of assigning them, so `__proto__` stays data.
  return changed ? Object.fromEntries(entries) : value
}
