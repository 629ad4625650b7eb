// The response object. What the request said is told back from the session's settings alone, so that it reads the same
// whether it is answered now or fetched a year later; it is written once per request, since it is sent several times.

import type { Agent } from '../../engine/index.ts'
import type { Ask, Settings, Usage } from '../../language/events.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { ownNames } from '../own-tools.ts'
import { door, protocol } from './decode.ts'
import { encodeChoice, encodeTool } from './decode-tools.ts'
import type { OutputItem, ResponseStatus } from './schema.ts'

/** What changes while the response is made. */
export type Head = {
  status: ResponseStatus
  completedAt: number | null
  error: { code: string; message: string } | null
  incomplete: string | null
  output: readonly OutputItem[]
  usage: Usage | null
}

export class Resource {
  readonly id: string
  readonly #createdAt: number
  readonly #rest: string

  /** `rest`: what the request said, from `requestFields`. */
  constructor(id: string, createdAt: number, rest: JsonObject) {
    this.id = id
    this.#createdAt = Math.floor(createdAt / 1000)
    this.#rest = JSON.stringify(rest).slice(1)
  }

  json(head: Head): string {
    const { status, completedAt, error, incomplete, output, usage } = head
    const fields = {
      id: this.id,
      object: 'response',
      created_at: this.#createdAt,
      completed_at: completedAt === null ? null : Math.floor(completedAt / 1000),
      status,
      error,
      incomplete_details: incomplete === null ? null : { reason: incomplete },
      output,
      usage: usage && encodeUsage(usage),
    }
    return `${JSON.stringify(fields).slice(0, -1)},${this.#rest}`
  }
}

function encodeUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0 },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.thinking ?? 0 },
    total_tokens: usage.input + usage.output,
  }
}

/** `conversation`: the session, when the response is kept. */
export function requestFields(
  agent: Agent | undefined,
  settings: Settings,
  ask: Ask,
  conversation?: string,
): JsonObject {
  const { choice, parallel, maxTokens, system, body } = ask
  const own = ownNames(settings, door)
  const clientTools = settings.clientTools.filter(({ name }) => own?.includes(name) ?? true)
  const given = body?.[protocol] ?? {}
  const note = settings.wires?.[door] ?? {}
  const said = (name: string, otherwise: Json): Json => given[name] ?? otherwise
  return {
    model: note['model'] ?? settings.model ?? agent?.name ?? 'default',
    instructions: system === undefined || system === '' ? null : system,
    tools: clientTools.map(encodeTool),
    tool_choice: encodeChoice(choice ?? agent?.choice ?? 'auto', clientTools),
    parallel_tool_calls: parallel ?? agent?.parallel ?? true,
    max_output_tokens: maxTokens ?? null,
    max_tool_calls: said('max_tool_calls', null),
    text: textFields(given['text']),
    reasoning: said('reasoning', null),
    temperature: said('temperature', 1),
    top_p: said('top_p', 1),
    presence_penalty: said('presence_penalty', 0),
    frequency_penalty: said('frequency_penalty', 0),
    top_logprobs: said('top_logprobs', 0),
    truncation: said('truncation', 'disabled'),
    service_tier: said('service_tier', 'default'),
    metadata: said('metadata', {}),
    safety_identifier: said('safety_identifier', null),
    prompt_cache_key: said('prompt_cache_key', null),
    user: said('user', null),
    store: conversation !== undefined,
    background: note['background'] ?? false,
    previous_response_id: note['previous'] ?? null,
    ...(conversation !== undefined && { conversation: { id: conversation } }),
  }
}

function textFields(given: Json | undefined): JsonObject {
  const plain = { format: { type: 'text' } }
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? { ...plain, ...given } : plain
}
