// Tools of the demonstration agent. They need no network and no key, and write only to the data folder, under names
// made from the idempotency key: a call that runs again after a crash has no second effect.
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Tool } from '../engine/ports/index.ts'
import { sha256 } from '../lib/json/hash.ts'
import type { JsonObject } from '../lib/json/index.ts'
import { tool } from '../tools/index.ts'
import { calculate } from './calculator.ts'

export function demoTools(given: string | undefined): Tool[] {
  const folder = demoFolder(given)
  return [weather, addNote(folder), searchNotes(folder), sendMail(folder), calculator, clock]
}

/** Without a data folder, notes and mails go to a temporary one. */
function demoFolder(given: string | undefined): () => string {
  let folder = given
  return () => {
    folder ??= mkdtempSync(join(tmpdir(), 'turnwire-demo-'))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }
}

function demoSchema(properties: JsonObject, required: string[]): JsonObject {
  return { type: 'object', properties, required, additionalProperties: false }
}

/** The gate has checked the types; an optional argument may be absent. */
function textArgument(input: JsonObject, name: string): string {
  const value = input[name]
  return typeof value === 'string' ? value : ''
}

// ---- weather -------------------------------------------------------------------------------------------------

const skies = ['clear sky', 'a few clouds', 'overcast', 'light rain', 'showers', 'fog', 'strong wind']

const weather = tool({
  name: 'get_weather',
  title: 'Weather',
  description: 'The current weather in a city. Made up, but always the same for the same city.',
  input: demoSchema(
    { city: { type: 'string', minLength: 1, maxLength: 80, description: 'The name of a city.' } },
    ['city'],
  ),
  kind: 'fetch',
  readOnly: true,
  trust: 'trusted',
  run: (input, { options }) => {
    const name = textArgument(input, 'city').trim()
    const seed = Buffer.from(sha256(name.toLowerCase()), 'base64url').readUInt32BE(0)
    const said = `${name}: ${4 + (seed % 24)} °C, ${skies[seed % skies.length]}`
    return options['detail'] === 'full'
      ? `${said}, humidity ${35 + (seed % 60)} %, wind ${seed % 40} km/h`
      : said
  },
})

// ---- notes ---------------------------------------------------------------------------------------------------

type Note = { id: string; at: string; text: string }

const firstNotes: Note[] = [
  { id: 'sample-1', at: '2026-01-05', text: 'The train to Lisbon leaves at 9:40 from platform 4.' },
  { id: 'sample-2', at: '2026-01-12', text: 'Ana likes tea, Bob likes coffee.' },
]

function readNotes(folder: string): Note[] {
  const file = join(folder, 'notes.jsonl')
  if (!existsSync(file)) return firstNotes
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter(line => line.trim() !== '')
  const notes = lines.flatMap((line): unknown[] => {
    try {
      return [JSON.parse(line)]
    } catch {
      return [] // A line that a full disk cut short.
    }
  })
  return [...firstNotes, ...notes.filter(isNote)]
}

function isNote(value: unknown): value is Note {
  return (
    typeof value === 'object' &&
    value !== null &&
    'id' in value &&
    'text' in value &&
    typeof value.text === 'string'
  )
}

function searchNotes(folder: () => string): Tool {
  return tool({
    name: 'search_notes',
    title: 'Search notes',
    description: 'Looks up what the notes say about something. An empty query lists the latest ones.',
    input: demoSchema({ query: { type: 'string', maxLength: 200, description: 'A word to look for.' } }, [
      'query',
    ]),
    kind: 'search',
    readOnly: true,
    trust: 'trusted',
    run: input => {
      const query = textArgument(input, 'query')
      const words = query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []
      const found = readNotes(folder()).filter(note => {
        const heard: readonly string[] = note.text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []
        return words.length === 0 || words.some(word => heard.includes(word))
      })
      if (found.length === 0) return `No note speaks of "${query}".`
      return found
        .slice(-10)
        .map(note => `${note.at.slice(0, 10)}: ${note.text}`)
        .join('\n')
    },
  })
}

function addNote(folder: () => string): Tool {
  return tool({
    name: 'add_note',
    title: 'Remember a note',
    description: 'Writes down a new note, to remember something later.',
    input: demoSchema(
      { text: { type: 'string', minLength: 1, maxLength: 2000, description: 'What to note.' } },
      ['text'],
    ),
    kind: 'edit',
    idempotent: true,
    destructive: false,
    run: (input, { idempotencyKey }) => {
      const own = folder()
      const note: Note = {
        id: idempotencyKey,
        at: new Date().toISOString(),
        text: textArgument(input, 'text'),
      }
      if (!readNotes(own).some(known => known.id === note.id))
        appendFileSync(join(own, 'notes.jsonl'), `${JSON.stringify(note)}\n`, { mode: 0o600 })
      return `Noted: ${note.text}`
    },
  })
}

// ---- mail ----------------------------------------------------------------------------------------------------

function sendMail(folder: () => string): Tool {
  return tool({
    name: 'send_mail',
    title: 'Send mail',
    description:
      'Sends an e-mail. In this demonstration it is written to the outbox folder and goes nowhere.',
    input: demoSchema(
      {
        to: { type: 'string', format: 'email', maxLength: 200, description: 'The address of the recipient.' },
        subject: { type: 'string', maxLength: 200 },
        body: { type: 'string', maxLength: 20_000 },
      },
      ['to', 'body'],
    ),
    kind: 'other',
    idempotent: true,
    destructive: true,
    run: (input, { idempotencyKey, options }) => {
      const to = textArgument(input, 'to')
      const outbox = join(folder(), 'outbox')
      mkdirSync(outbox, { recursive: true, mode: 0o700 })
      const name = `${sha256(idempotencyKey).replace(/\W/g, '').slice(0, 16)}.eml`
      const headers = [
        'From: helper@turnwire.example',
        `To: ${headerLine(to)}`,
        `Subject: ${encodedWord(textArgument(input, 'subject') || 'A message')}`,
        `X-Api-Token: ${options['api_token'] ? 'given' : 'none'}`,
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 8bit',
      ]
      writeFileSync(join(outbox, name), `${headers.join('\r\n')}\r\n\r\n${textArgument(input, 'body')}\r\n`, {
        mode: 0o600,
      })
      return `Sent to ${to}; the mail is in outbox/${name}`
    },
  })
}

/** Prevents header injection. */
function headerLine(text: string): string {
  return text.replace(/[\r\n\0]+/g, ' ')
}

function encodedWord(text: string): string {
  const line = headerLine(text)
  return /^[\x20-\x7e]*$/.test(line) ? line : `=?utf-8?B?${Buffer.from(line).toString('base64')}?=`
}

// ---- small ones ------------------------------------------------------------------------------------------------

const calculator = tool({
  name: 'calculator',
  title: 'Calculator',
  description: 'Calculates an arithmetic expression such as (17 + 3) * 2.5.',
  input: demoSchema({ expression: { type: 'string', minLength: 1, maxLength: 500 } }, ['expression']),
  kind: 'think',
  readOnly: true,
  trust: 'trusted',
  run: input => {
    const expression = textArgument(input, 'expression')
    return `${expression} = ${calculate(expression)}`
  },
})

/** Offered to the model, not listed to clients. */
const clock = tool({
  name: 'clock',
  title: 'Clock',
  description: 'The date and time now, on the server, in UTC.',
  input: demoSchema({}, []),
  kind: 'read',
  readOnly: true,
  trust: 'trusted',
  exposed: false,
  run: () => new Date().toISOString(),
})
