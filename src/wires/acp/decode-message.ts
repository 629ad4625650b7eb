// One message of the protocol from its text, for pipes and sockets: strict JSON within limits, and an object. Whether it is
// a request, a notification or a response is the SDK's to check; it answers what is none of them.
import { type AnyMessage, RequestError } from '@agentclientprotocol/sdk'
import { isJsonObject, JsonError, type JsonLimits } from '../../lib/json/index.ts'
import { parseTextSoon } from '../../lib/json/parse-soon.ts'

export async function decodeMessage(text: string, limits: JsonLimits): Promise<AnyMessage | RequestError> {
  try {
    const message = await parseTextSoon(text, limits)
    if (Array.isArray(message))
      return RequestError.invalidRequest(undefined, 'Batches are not part of the protocol.')
    if (isJsonObject(message)) return message as AnyMessage // The SDK checks the rest.
    return RequestError.invalidRequest(undefined, 'A message is a JSON object.')
  } catch (error) {
    return RequestError.parseError(
      undefined,
      error instanceof JsonError ? error.message : 'This is not JSON.',
    )
  }
}

/** The answer to what was no message. */
export function refusedMessage(error: RequestError): object {
  return { jsonrpc: '2.0', id: null, error: error.toErrorResponse() }
}
