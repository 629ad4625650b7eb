// An estimate of the tokens of a request that keeps nothing: its history, the client's tools and all instructions.
import { estimateTokens as estimate } from '../../language/estimate-tokens.ts'
import type { StatelessRequest } from './serve.ts'

/** `system`: the agent's own instructions. */
export function estimateTokens({ history, ask, clientTools }: StatelessRequest, system = ''): number {
  return estimate({ system: system + (ask?.system ?? ''), history, tools: clientTools })
}
