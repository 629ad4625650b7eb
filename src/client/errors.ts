// The one error of the client. `status` 0: the server sent no answer, or not the answer that the protocol describes.

export class AapError extends Error {
  override readonly name = 'AapError'
  readonly status: number
  /** The server's own code, or `connection_failed`, `connection_lost`, `forbidden_origin`, `unexpected_answer`, `http_<status>`. */
  readonly code: string
  /** From the Retry-After header, in seconds. */
  readonly retryAfter: number | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    options: ErrorOptions & { retryAfter?: number } = {},
  ) {
    super(message, options)
    this.status = status
    this.code = code
    this.retryAfter = options.retryAfter
  }
}

/** Reads an error response with any kind of body. */
export async function readAapError(response: Response): Promise<AapError> {
  const body = await response.text().catch(() => '')
  const { error, code } = readErrorBody(body)
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new AapError(
    response.status,
    code ?? `http_${response.status}`,
    error ?? (body.trim().slice(0, 500) || `The server answered ${response.status}.`),
    Number.isFinite(seconds) ? { retryAfter: seconds } : {},
  )
}

function readErrorBody(body: string): { error?: string; code?: string } {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value !== 'object' || value === null) return {}
    return {
      ...('error' in value && typeof value.error === 'string' && { error: value.error }),
      ...('code' in value && typeof value.code === 'string' && { code: value.code }),
    }
  } catch {
    return {}
  }
}
