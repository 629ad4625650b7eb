// The parts of both OpenAI endpoints around a request: keys, bodies that cannot be read, failures, the error envelope, the
// padding of streamed deltas, and token counts.
import { createHash } from 'node:crypto'
import type { BodyProblem } from '../body.ts'
import { bearerKey, type RequestHeaders, type VendorDouble } from '../double.ts'
import { type Rejection, readThinking, type ScriptedTurn, scriptedText } from '../script.ts'
import { tokensIn } from '../shape.ts'
import { openaiError } from './forms.ts'

export const SERVER_ERROR = 'The server had an error while processing your request. Sorry about that!'

const FAILURES: Record<number, [type: string, code: string | null, message: string]> = {
  401: ['invalid_request_error', 'invalid_api_key', 'Incorrect API key provided.'],
  403: ['invalid_request_error', 'model_not_found', 'Your project does not have access to this model.'],
  429: [
    'requests',
    'rate_limit_exceeded',
    'Rate limit reached for this model on requests per min (RPM): Limit 500, Used 500, Requested 1.',
  ],
  500: ['server_error', null, SERVER_ERROR],
  503: ['server_error', null, 'The engine is currently overloaded, please try again later.'],
}

type Envelope = Pick<VendorDouble<unknown>, 'authorise' | 'unreadable' | 'failure' | 'rejectionBody'>

export const openaiEnvelope: Envelope = {
  authorise(headers, _query, apiKey) {
    const key = bearerKey(headers)
    if (key === undefined) {
      const message =
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
      return openaiError('auth', message, null, null, 401)
    }
    if (apiKey === undefined || key === apiKey) return null
    const shown = key.length <= 8 ? '*'.repeat(key.length) : `${key.slice(0, 4)}****${key.slice(-4)}`
    const message = `Incorrect API key provided: ${shown}. You can find your API key at https://platform.openai.com/account/api-keys.`
    return openaiError('auth', message, null, 'invalid_api_key', 401)
  },
  unreadable({ kind, detail }: BodyProblem) {
    if (kind === 'content-type') {
      const message = `Unsupported content type: '${detail}'. This API method only accepts 'application/json' requests, but you specified the header 'Content-Type: ${detail}'. Please try again with a supported content type.`
      return openaiError('body', message, null, 'unsupported_content_type')
    }
    const message =
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
    return openaiError('body', message)
  },
  /** OpenAI has no 529: it answers an overload with 503. */
  failure(status): Rejection {
    const real = status === 529 ? 503 : status
    if (real === 404) {
      const message = 'Invalid URL. Check the method and the path of the request.'
      return openaiError('route', message, null, null, 404)
    }
    const [type, code, message] = FAILURES[real] ?? FAILURES[500]!
    return { rule: 'failure', status: real, type, message, param: null, code }
  },
  /** All four keys are always there. */
  rejectionBody: ({ status, message, type, param = null, code = null }) => ({
    status,
    body: { error: { message, type, param, code } },
  }),
}

/** The organisation of a request: a digest of its key. `null` without a key. */
export function readOrganisation(headers: RequestHeaders): string | null {
  const key = bearerKey(headers)
  return key === undefined ? null : createHash('sha256').update(key).digest('hex').slice(0, 16)
}

/** The vendor pads its deltas to hide their size. The padding here is the same in every run. */
export function obfuscation(seed: string): string {
  const digest = createHash('sha256').update(seed).digest('base64url').replace(/[-_]/g, '')
  return digest.slice(0, 4 + (digest.charCodeAt(0) % 12))
}

// ---- token counts -------------------------------------------------------------------------------------------

type TokenCounts = { input: number; cached: number; output: number; reasoning: number }

/** The names under which a script may give a count, neutral or as a vendor calls it. */
const COUNT_NAMES: Record<keyof TokenCounts, string[]> = {
  input: ['input', 'input_tokens', 'prompt_tokens', 'inputTokens'],
  cached: ['cached', 'cached_tokens', 'cache_read_input_tokens', 'cacheReadTokens'],
  output: ['output', 'output_tokens', 'completion_tokens', 'outputTokens'],
  reasoning: ['reasoning', 'reasoning_tokens', 'thinking_tokens', 'reasoningTokens'],
}

export function countTokens(turn: ScriptedTurn, requestText: string): TokenCounts {
  const output = (turn.text ?? '') + (turn.refusal ?? '') + (turn.calls ?? []).map(scriptedText).join('')
  const reasoning = scriptedCount(turn, 'reasoning') ?? tokensIn(readThinking(turn)?.text ?? '')
  return {
    input: scriptedCount(turn, 'input') ?? tokensIn(requestText),
    cached: scriptedCount(turn, 'cached') ?? 0,
    output: scriptedCount(turn, 'output') ?? Math.max(1, tokensIn(output)) + reasoning,
    reasoning,
  }
}

function scriptedCount(turn: ScriptedTurn, count: keyof TokenCounts): number | undefined {
  const name = COUNT_NAMES[count].find(candidate => turn.usage?.[candidate] !== undefined)
  return name === undefined ? undefined : turn.usage?.[name]
}
