// The tool that reads what was left out of a kept output. A session offers it once it has such an output. It passes the gate
// like any other tool: rules of the policy apply to its name.
import type { KeptOutput } from '../language/calls.ts'
import type { ToolDeclaration } from '../language/tools.ts'
import { isJsonObject, type Json } from '../lib/json.ts'
import { readOutputName } from './kept-output.ts'
import { InvalidInput, type Tool, type ToolOutput } from './ports.ts'
import type { Session } from './session.ts'

const usualLength = 16 * 1024
const mostLength = 48 * 1024
const mostMatches = 20
/** How much is searched at once. */
const window = 256 * 1024
/** How much is shown around a match. */
const around = 100

const declaration: ToolDeclaration = {
  name: readOutputName,
  description:
    'Reads a long output of an earlier tool call, of which only the beginning and the end were shown. ' +
    'Give the id that stands in that output. With "search" it lists where a text occurs; ' +
    'otherwise it gives the bytes from "offset" on.',
  input: {
    form: 'json',
    schema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'The id of the call whose output is read.' },
        offset: { type: 'integer', minimum: 0, description: 'The byte to begin at. Default 0.' },
        length: {
          type: 'integer',
          minimum: 1,
          maximum: mostLength,
          description: `How many bytes to read. Default ${usualLength}.`,
        },
        search: {
          type: 'string',
          minLength: 1,
          maxLength: 1000,
          description: `An exact text to look for, from "offset" on. Up to ${mostMatches} places are given.`,
        },
      },
      required: ['id'],
      additionalProperties: false,
    },
  },
  kind: 'read',
  readOnly: true,
  idempotent: true,
  destructive: false,
  side: 'server',
}

type Offer = { attached: readonly Tool[]; all: readonly Tool[] }

/** The list stays the same while nothing changes, so that what is made of it can be kept. */
const offers = new WeakMap<Session, Offer>()

/** The tools that are attached to a session, and the one that reads kept outputs if it has any. */
export function withReader(session: Session, attached: readonly Tool[]): readonly Tool[] {
  if (!session.state.kept) return attached
  const known = offers.get(session)
  if (known?.attached === attached) return known.all
  const all = [...attached, readOutputTool(session)]
  offers.set(session, { attached, all })
  return all
}

function readOutputTool(session: Session): Tool {
  return {
    ...declaration,
    side: 'server',
    exposed: false,
    trust: 'trusted',
    timeoutMs: 60_000,
    retries: 0,
    outputLimit: 64 * 1024,
    run: (input, { signal }) => readOutput(session, input, signal),
  }
}

async function readOutput(session: Session, input: Json, signal: AbortSignal): Promise<ToolOutput> {
  // It fits the schema.
  const { id, offset = 0, length = usualLength, search } = (isJsonObject(input) ? input : {}) as ReadInput
  const kept = session.state.kept?.get(id)
  if (!kept) throw new InvalidInput(`There is no kept output of a call ${id}. ${knownIds(session)}`)
  if (kept.binary) throw new InvalidInput('This output is not text: it can be read by the application only.')
  const text =
    search === undefined
      ? await excerpt(session, kept, offset, length)
      : await matches(session, kept, offset, search, signal)
  return { parts: [{ type: 'text', text }] }
}

type ReadInput = { id: string; offset?: number; length?: number; search?: string }

function knownIds({ state }: Session): string {
  return `There are: ${[...(state.kept?.keys() ?? [])].slice(-20).join(', ')}.`
}

async function bytesAt(
  { ports, id }: Session,
  { blob }: KeptOutput,
  from: number,
  length: number,
): Promise<Buffer> {
  const found = await ports.store.blobRange(id, blob, from, length)
  if (!found) throw new Error('The output is not there any more.')
  return Buffer.from(found.bytes)
}

async function excerpt(session: Session, kept: KeptOutput, offset: number, length: number): Promise<string> {
  if (offset >= kept.bytes) return `The output has ${kept.bytes} bytes. There is nothing at ${offset}.`
  const bytes = await bytesAt(session, kept, offset, length)
  const end = offset + bytes.length
  const rest = end < kept.bytes ? `; go on at offset ${end}` : ', the end'
  return `[bytes ${offset} to ${end} of ${kept.bytes}${rest}]\n${new TextDecoder().decode(bytes)}`
}

/** Windows overlap, so that a match is not missed between two of them. */
async function matches(
  session: Session,
  kept: KeptOutput,
  offset: number,
  search: string,
  signal: AbortSignal,
): Promise<string> {
  const wanted = Buffer.from(search)
  const found: string[] = []
  let at = offset
  while (at < kept.bytes && found.length < mostMatches) {
    signal.throwIfAborted()
    const bytes = await bytesAt(session, kept, at, window)
    let from = 0
    for (;;) {
      const index = bytes.indexOf(wanted, from)
      if (index < 0 || found.length === mostMatches) break
      found.push(`${at + index}: ${lineAround(bytes, index, wanted.length)}`)
      from = index + wanted.length
    }
    if (at + bytes.length >= kept.bytes || bytes.length === 0) break
    at += Math.max(bytes.length - wanted.length + 1, from)
  }
  if (found.length === 0) return `"${search}" does not occur in the ${kept.bytes} bytes from ${offset} on.`
  const more = found.length === mostMatches ? ' There may be more: search on from a larger offset.' : ''
  return `${found.length} found, each with its offset.${more}\n${found.join('\n')}`
}

function lineAround(bytes: Buffer, index: number, length: number): string {
  const before = bytes.lastIndexOf(10, Math.max(index - 1, 0))
  const after = bytes.indexOf(10, index + length)
  const start = Math.max(index === 0 ? 0 : before + 1, index - around, 0)
  const end = Math.min(after < 0 ? bytes.length : after, index + length + around)
  return new TextDecoder().decode(bytes.subarray(start, end))
}
