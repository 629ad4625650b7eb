// What is left in a sealed file when kinds of content are left out: over the events of all transcripts.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Event, Recorded } from '../../src/language/events.ts'
import { digestForm, Salts } from '../../src/language/receipts.ts'
import { readRedaction, redactable } from '../../src/proof/redaction.ts'
import type { Transcript } from '../transcripts/summary.ts'

const folder = fileURLToPath(new URL('../transcripts/fixtures/', import.meta.url))
const events: Recorded[] = globSync(`${folder}*.json`).flatMap(
  file => (JSON.parse(readFileSync(file, 'utf8')) as Transcript).log, // What record.ts wrote.
)

/** Members whose texts are ids, names that the operator or the server gave, hashes, and words of closed lists. */
const names = new Set(
  `type callId call parent turn message question key wire version shadow rule grantId agent session model budget limit by action found
  hash argsHash toolHash requesters roles name tool id copyOf change hook verdict given stop code mirrors blob to text
  head previous root salt marks signature policy source`
    .split(/\s+/)
    .concat('sha256'),
)

/** Each text in a value, with the name of its member. */
function* textsIn(value: unknown, member = ''): Generator<[member: string, text: string]> {
  if (typeof value === 'string') yield [member, value]
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value))
      yield* textsIn(inner, Array.isArray(value) ? member : key)
}

const kept = (what: string): Event[] => {
  const removes = readRedaction(what)
  assert(removes)
  return events.filter(item => !removes(item)).map(({ event }) => event)
}

test('when all is left out, no text that anyone wrote stays', () => {
  const left = kept('all')
  assert(new Set(left.map(({ type }) => type)).size > 20)
  for (const event of left)
    for (const [member, text] of textsIn(digestForm(event, new Salts('any'), 2))) {
      assert(names.has(member), `${event.type}: ${member}: ${text}`)
      assert.doesNotMatch(text, / /, `${event.type}: ${member}: ${text}`)
    }
})

test('each kind leaves out what it names, and signatures stay', () => {
  const members: Record<string, string[]> = {
    messages: ['turn.started', 'message.queued', 'session.created'],
    arguments: ['model.answered', 'call.edited', 'call.nested'],
    results: ['call.settled', 'question.answered'],
    reasons: ['hook.acted', 'turn.ended'],
  }
  assert.deepEqual(redactable, ['all', ...Object.keys(members)])
  for (const [what, types] of Object.entries(members)) {
    const left = new Set(kept(what))
    for (const type of types) {
      const before = events.filter(({ event }) => event.type === type)
      assert(before.length > 0, type)
      assert(
        before.some(({ event }) => !left.has(event)),
        `${what} ${type}`,
      )
    }
    assert([...left].some(({ type }) => type === 'log.signed'))
    assert([...left].some(({ type }) => type === 'approval.decided'))
  }
})
