// The agent that answers on the owner's machine. Here: a local server of the Responses API. The command has one more, of
// the local configuration. Neither runs a tool: calls of the client's tools go back to the client.
import { createParser } from 'eventsource-parser'
import { TurnwireError } from '../../language/errors.ts'
import { isJsonObject, type JsonObject } from '../../lib/json/index.ts'
import { printable } from '../../lib/text/index.ts'
import { toFlatTools, withoutServerMembers } from '../request.ts'

/** Contract: gives the events of one answer, the last of them terminal, or throws. `body` has been checked. */
export type LocalAgent = (body: JsonObject, signal: AbortSignal) => AsyncIterable<JsonObject>

export type LocalServer = {
  /** The whole address of its Responses API. */
  url: URL
  /** Undefined: it wants none. */
  token?: string | undefined
  /** The model that it is asked for, in place of the request's. Undefined: the request's. */
  model?: string | undefined
  /** It takes tools nested under `function`, as the relay's protocol has them. Default: flat, as OpenAI has them. */
  nested?: boolean
}

const silenceMs = 120_000
const mostEventChars = 8 * 1024 * 1024

export function serverAgent({ url, token, model, nested = false }: LocalServer): LocalAgent {
  return async function* (body, signal) {
    const kept = withoutServerMembers(body)
    const asked = {
      ...(nested ? kept : toFlatTools(kept)),
      ...(model !== undefined && { model }),
      stream: true,
    }
    const quiet = new Quiet(signal)
    try {
      const answer = await fetch(url, {
        method: 'POST',
        redirect: 'error',
        signal: quiet.signal,
        body: JSON.stringify(asked),
        headers: {
          'content-type': 'application/json',
          accept: 'text/event-stream',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
      })
      if (!answer.ok || !answer.body) throw await readRefusal(answer)
      if (answer.headers.get('content-type')?.includes('application/json'))
        yield { type: 'response.completed', response: (await answer.json()) as JsonObject } // its reader checks it
      else yield* readEvents(answer.body, quiet)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof TurnwireError) throw error
      throw new TurnwireError('model_failed', 'The local server of this agent cannot be asked.', {
        cause: error,
      })
    } finally {
      quiet.end()
    }
  }
}

/** Aborts with its parent, or when nothing came for too long. */
class Quiet {
  readonly #abort = new AbortController()
  readonly #timer = setTimeout(() => this.#abort.abort(new Error('The local server is silent.')), silenceMs)
  readonly signal: AbortSignal

  constructor(parent: AbortSignal) {
    this.signal = AbortSignal.any([parent, this.#abort.signal])
  }

  heard(): void {
    this.#timer.refresh()
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

async function* readEvents(body: ReadableStream<Uint8Array>, quiet: Quiet): AsyncIterable<JsonObject> {
  let events: JsonObject[] = []
  const parser = createParser({
    maxBufferSize: mostEventChars,
    onEvent: ({ data }) => {
      if (data.trim() === '[DONE]') return
      const event: unknown = JSON.parse(data)
      if (isJsonObject(event)) events.push(event)
    },
    onError: error => {
      if (error.type === 'max-buffer-size-exceeded')
        throw new Error('An event of the local server is too large.')
    },
  })
  const decoder = new TextDecoder()
  for await (const chunk of body) {
    quiet.heard()
    parser.feed(decoder.decode(chunk, { stream: true }))
    const given = events
    events = []
    yield* given
  }
}

/** The local server's message is for its owner only: the relay learns only that it refused. */
async function readRefusal(answer: Response): Promise<TurnwireError> {
  const cause = new Error(`Status ${answer.status}: ${printable((await answer.text()).slice(0, 2_000), 500)}`)
  return new TurnwireError('model_failed', 'The local server of this agent refused the request.', { cause })
}
