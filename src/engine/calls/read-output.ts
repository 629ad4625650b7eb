// The tool that reads what was left out of a long output. A session offers it once it has such an output.
import { type ReadableOutput, readOutputName } from '../../language/calls.ts'
import { joinText, type ResultPart } from '../../language/content.ts'
import { isJsonObject, type Json, type JsonObject } from '../../lib/json/index.ts'
import { InvalidInput, type Tool, type ToolOutput } from '../ports/index.ts'
import type { CallSession } from './call-session.ts'
import { engineTool } from './engine-tool.ts'

const usualLength = 16 * 1024
const mostLength = 48 * 1024
const mostMatches = 20
/** How much is searched at once. */
const window = 256 * 1024
/** How much is shown around a match. */
const around = 100

const schema: JsonObject = {
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
}

/** Offers the tool once the session has an output to read. */
export function offerReader(session: CallSession): void {
  if (session.state.kept) session.addTool(readOutputName, () => readOutputTool(session))
}

function readOutputTool(session: CallSession): Tool {
  return engineTool({
    name: readOutputName,
    description:
      'Reads a long output of an earlier tool call, of which only the beginning and the end were shown. ' +
      'Give the id that stands in that output. With "search" it lists where a text occurs; ' +
      'otherwise it gives the bytes from "offset" on.',
    input: { form: 'json', schema },
    kind: 'read',
    readOnly: true,
    run: (input, { signal }) => readOutput(session, input, signal),
  })
}

async function readOutput(session: CallSession, input: Json, signal: AbortSignal): Promise<ToolOutput> {
  // It fits the schema.
  const {
    id,
    offset = 0,
    length = usualLength,
    search,
  } = (isJsonObject(input) ? input : {}) as ReadOutputInput
  const readable = session.state.kept?.get(id)
  if (!readable) throw new InvalidInput(`There is no kept output of a call ${id}. ${knownIds(session)}`)
  if ('binary' in readable && readable.binary)
    throw new InvalidInput('This output is not text: it can be read by the application only.')
  const output = await openOutput(session, readable)
  const text =
    search === undefined
      ? await excerpt(output, offset, length)
      : await matchLines(output, offset, search, signal)
  return { parts: [{ type: 'text', text }] }
}

type ReadOutputInput = { id: string; offset?: number; length?: number; search?: string }

function knownIds({ state }: CallSession): string {
  return `There are: ${[...(state.kept?.keys() ?? [])].slice(-20).join(', ')}.`
}

type OpenOutput = { size: number; read: (from: number, length: number) => Buffer | Promise<Buffer> }

/** A kept output is read from the store piece by piece. A result that was cut is small enough to be read at once. */
async function openOutput(
  { ports: { store }, id }: CallSession,
  readable: ReadableOutput,
): Promise<OpenOutput> {
  const { blob } = readable
  if ('bytes' in readable)
    return {
      size: readable.bytes,
      read: async (from, length) =>
        Buffer.from((await store.blobRange(id, blob, from, length))?.bytes ?? gone()),
    }
  // The gate wrote it, from parts that it had made.
  const parts = JSON.parse((await store.blob(id, blob)) ?? gone()) as ResultPart[]
  const whole = Buffer.from(joinText(parts))
  return { size: whole.length, read: (from, length) => whole.subarray(from, from + length) }
}

function gone(): never {
  throw new Error('The output is not there any more.')
}

async function excerpt({ size, read }: OpenOutput, offset: number, length: number): Promise<string> {
  if (offset >= size) return `The output has ${size} bytes. There is nothing at ${offset}.`
  const bytes = await read(offset, length)
  const end = offset + bytes.length
  const rest = end < size ? `; go on at offset ${end}` : ', the end'
  return `[bytes ${offset} to ${end} of ${size}${rest}]\n${new TextDecoder().decode(bytes)}`
}

/** Windows overlap, so that a match is not missed between two of them. */
async function matchLines(
  { size, read }: OpenOutput,
  offset: number,
  search: string,
  signal: AbortSignal,
): Promise<string> {
  const wanted = Buffer.from(search)
  const found: string[] = []
  let at = offset
  while (at < size && found.length < mostMatches) {
    signal.throwIfAborted()
    const bytes = await read(at, window)
    let from = 0
    for (;;) {
      const index = bytes.indexOf(wanted, from)
      if (index < 0 || found.length === mostMatches) break
      found.push(`${at + index}: ${lineAround(bytes, index, wanted.length)}`)
      from = index + wanted.length
    }
    if (at + bytes.length >= size || bytes.length === 0) break
    at += Math.max(bytes.length - wanted.length + 1, from)
  }
  if (found.length === 0) return `"${search}" does not occur in the ${size} bytes from ${offset} on.`
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
