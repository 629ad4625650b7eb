// A history that a client brings along: whether a model can be sent it, and its results as the gate lets them pass.
import { TurnwireError } from '../../language/errors.ts'
import type { Entry } from '../../language/history.ts'
import type { Gate } from '../ports/index.ts'

export type Blob = { name: string; body: string }

/** Bounds and redacts the results of the client's tools. `blobs`: whole results that were cut for the model. */
export function boundResults(seed: readonly Entry[], gate: Gate): { entries: Entry[]; blobs: Blob[] } {
  const blobs: Blob[] = []
  const entries = seed.map((entry): Entry => {
    if (entry.role !== 'tool') return entry
    const results = entry.results.map(result => {
      const { kind, parts, from } = result.outcome
      if (from.source !== 'client') return result
      const { outcome, blob } = gate.finishClient(parts, kind === 'error', result.callId)
      if (blob) blobs.push(blob)
      const { loads } = result.outcome
      return { ...result, outcome: loads && outcome.kind === 'ok' ? { ...outcome, loads } : outcome }
    })
    return { role: 'tool', results }
  })
  return { entries, blobs }
}

/** Refuses a history in which calls and results are not paired in order. */
export function checkSeed(seed: readonly Entry[]): void {
  let open: string[] = []
  const seen = new Set<string>()
  for (const entry of seed) {
    if (entry.role === 'tool') {
      const given = new Set(entry.results.map(result => result.callId))
      if (entry.results.length !== open.length || given.size === 0 || open.some(id => !given.has(id)))
        throw new TurnwireError(
          'bad_request',
          'Seeded tool results must answer exactly the calls of the message before.',
        )
      open = []
      continue
    }
    if (open.length > 0) throw unanswered(open)
    if (entry.role !== 'assistant') continue
    for (const part of entry.parts) {
      if (part.type !== 'call') continue
      if (seen.has(part.id))
        throw new TurnwireError('duplicate_call', `The seeded history has the call "${part.id}" twice.`)
      seen.add(part.id)
      open.push(part.id)
    }
  }
  if (open.length > 0) throw unanswered(open)
}

function unanswered([callId]: readonly string[]): TurnwireError {
  return new TurnwireError('bad_request', `The seeded history leaves the call "${callId}" without a result.`)
}
