// Why an MCP server could not be reached, in words for an operator. The SDK says only that something failed; the cause is
// at the end of a chain of errors.
import { TurnwireError } from '../../language/errors.ts'
import { errorMessage } from '../../lib/text/error-message.ts'
import { printable, quote } from '../../lib/text/index.ts'
import type { McpServerSpec } from './spec.ts'

export function connectProblem(thrown: unknown, spec: McpServerSpec): string {
  const chain = listCauses(thrown)
  const last = chain.at(-1)
  const code = chain.map(causeCode).findLast(each => each !== undefined && /^E[A-Z]+$/.test(each))
  if ('command' in spec && code === 'ENOENT')
    return `The program ${quote(spec.command, 100)} was not found. Install it, or give its whole path.`
  if ('url' in spec && chain.some(each => errorMessage(each) === 'fetch failed')) {
    // The query of an address may hold a secret, so it is left out.
    const { origin, pathname } = new URL(spec.url)
    return printable(`No answer from ${origin}${pathname}: ${code ?? errorMessage(last)}.`, 300)
  }
  return printable(errorMessage(thrown), 300)
}

export function unreachable(cause: unknown, spec: McpServerSpec): TurnwireError {
  const words = `The MCP server "${spec.name}" cannot be used: ${connectProblem(cause, spec)}`
  return new TurnwireError('invalid_tool', words, { cause })
}

/** Errors can be their own cause. */
function listCauses(thrown: unknown): unknown[] {
  const chain = [thrown]
  for (let at = thrown; chain.length < 8 && at instanceof Error && at.cause !== undefined; at = at.cause)
    chain.push(at.cause)
  return chain
}

function causeCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string'
    ? thrown.code
    : undefined
}
