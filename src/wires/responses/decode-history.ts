// A conversation's items, into entries that any model can be sent: every call has exactly one output, which stands
// directly after the answer that made it. What the API refuses of a conversation is refused here, in its words.
import type { Agent } from '../../engine/index.ts'
import type { CallPart, CallResult, Outcome } from '../../language/calls.ts'
import type { AnswerPart, Entry } from '../../language/history.ts'
import type { CallNoun, Item } from './decode-items.ts'
import { refuse } from './refuse.ts'
import { type Sealed, unseal } from './sealed.ts'

export type Blob = { name: string; body: string }

/** `blobs`: the wholes of outputs that were cut for the model. */
export type History = { entries: Entry[]; blobs: Blob[] }

/** Calls that were made before these items, and the results that some of them have already. */
export type Before = { calls: readonly CallPart[]; settled: ReadonlyMap<string, Outcome> }

const nothingBefore: Before = { calls: [], settled: new Map() }

export function buildHistory(items: readonly Item[], agent: Agent, before: Before = nothingBefore): History {
  const builder = new Builder(pair(items, agent, before))
  builder.answer(before.calls)
  for (const item of items) builder.take(item)
  return builder.done()
}

// ---- which output belongs to which call -------------------------------------------------------------------------

type Pairs = { outcomes: Map<string, Outcome>; blobs: Blob[] }

function pair(items: readonly Item[], agent: Agent, before: Before): Pairs {
  const pairs: Pairs = { outcomes: new Map(before.settled), blobs: [] }
  const asked = new Set(before.calls.map(call => call.id))
  const settle = (callId: string, item: Extract<Item, { kind: 'output' | 'ran' }>, failed: boolean): void => {
    const { outcome, blob } = agent.gate.finishClient(item.output, failed, callId)
    pairs.outcomes.set(callId, outcome)
    if (blob) pairs.blobs.push(blob)
  }
  for (const item of items) {
    if (item.kind === 'call' || item.kind === 'ran') {
      const { id } = item.part
      if (asked.has(id))
        refuse(
          `Duplicate call_id '${id}' in input. Every call has an id of its own.`,
          `${item.path}.call_id`,
          'duplicate_call_id',
        )
      asked.add(id)
      if (item.kind === 'ran') settle(id, item, item.failed)
    } else if (item.kind === 'output') {
      if (!asked.has(item.callId) || pairs.outcomes.has(item.callId)) noCall(item.noun, item.callId)
      settle(item.callId, item, false)
    } else if (item.kind === 'approval') noApproval(item.id)
  }
  return pairs
}

export function noCall(noun: CallNoun, callId: string): never {
  refuse(`No tool call found for ${noun} output with call_id ${callId}.`, 'input', 'tool_call_not_found')
}

export function noOutput(call: CallPart): never {
  const noun: CallNoun = call.form === 'text' ? 'custom tool call' : 'function call'
  refuse(`No tool output found for ${noun} ${call.id}.`, 'input', 'tool_output_not_found')
}

export function noApproval(id: string): never {
  refuse(`No approval request found for approval response with id ${id}.`, 'input', 'approval_not_found')
}

// ---- entries ----------------------------------------------------------------------------------------------------

class Builder {
  readonly #pairs: Pairs
  readonly #entries: Entry[] = []
  #parts: AnswerPart[] = []
  #cut = new Set<string>()
  #sealed: Sealed | undefined
  /** The server ran calls of this answer: what the model says next is another answer. */
  #ran = false

  constructor(pairs: Pairs) {
    this.#pairs = pairs
  }

  take(item: Item): void {
    switch (item.kind) {
      case 'said':
        if (this.#ran) this.#close()
        this.#parts.push(item.part)
        break
      case 'ran':
        this.#ran = true
        this.#parts.push(item.part)
        break
      case 'call':
        this.#parts.push(item.part)
        if (item.cut) this.#cut.add(item.part.id)
        break
      case 'sealed':
        // Two in a row belong to two answers.
        if (this.#sealed || this.#ran) this.#close()
        this.#sealed = item.sealed
        break
      case 'user':
        this.#close()
        this.#entries.push({ role: 'user', parts: item.parts })
        break
      case 'system':
        this.#close()
        this.#entries.push({ role: 'system', text: item.text })
        break
      case 'output':
      case 'approval':
        this.#close()
        break
    }
  }

  done(): History {
    this.#close()
    return { entries: this.#entries, blobs: this.#pairs.blobs }
  }

  /** The results of an answer's calls, in the order in which they were asked. */
  answer(calls: readonly CallPart[]): void {
    if (calls.length === 0) return
    const results = calls.map((call): CallResult => {
      const outcome = this.#pairs.outcomes.get(call.id) ?? noOutput(call)
      return { callId: call.id, name: call.name, outcome }
    })
    this.#entries.push({ role: 'tool', results })
  }

  #close(): void {
    const sealed = this.#sealed
    const kept = this.#parts.filter(
      part => part.type !== 'call' || !this.#cut.has(part.id) || this.#pairs.outcomes.has(part.id),
    )
    const parts = sealed ? unseal(kept, sealed) : kept
    this.#parts = []
    this.#cut = new Set()
    this.#sealed = undefined
    this.#ran = false
    if (parts.length === 0) return
    this.#entries.push({
      role: 'assistant',
      parts,
      ...(sealed?.origin && { origin: sealed.origin }),
      ...(sealed?.continuity && { continuity: sealed.continuity }),
    })
    this.answer(parts.filter(part => part.type === 'call'))
  }
}
