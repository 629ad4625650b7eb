// Rules in Rego, compiled to WebAssembly by `opa build -t wasm` and decided by `@open-policy-agent/opa-wasm`, which the operator
// installs. Nothing is asked over a network. The policy gives a verdict, not just true or false, if it wants people to be asked.
import { readFile } from 'node:fs/promises'
import type { Question } from '../../engine/ports/index.ts'
import { wordsOf } from '../../language/errors.ts'
import { verdictWords } from '../../language/policy.ts'
import { sha256 } from '../../lib/json/hash.ts'
import { isJsonObject, type Json } from '../../lib/json/index.ts'
import { invalidPolicy } from '../invalid-policy.ts'
import type { Decider, Decision } from '../rules.ts'
import { loadEngine, makeDecider, type Otherwise, readFacts } from './facts.ts'

export type OpaOptions = {
  /** The policy: a file (`policy.wasm` of the bundle that `opa build` makes), or its bytes. */
  wasm: string | Uint8Array<ArrayBuffer>
  /** Which rule gives the verdict, such as `turnwire/verdict`. Default: the first entry point of the policy. */
  entrypoint?: string
  /** What the policy reads as `data`. */
  data?: Record<string, unknown>
  /** Where the policy gives nothing. Default: `deny`. */
  otherwise?: Otherwise
}

export async function opa({ wasm, entrypoint, data, otherwise = 'deny' }: OpaOptions): Promise<Decider> {
  const name = '@open-policy-agent/opa-wasm'
  const { loadPolicy } = await loadEngine(name, () => import('@open-policy-agent/opa-wasm'))
  const bytes = typeof wasm === 'string' ? new Uint8Array(await readFile(wasm)) : wasm
  const policy = await loadPolicy(bytes).catch((error: unknown) =>
    invalidPolicy('The WebAssembly of OPA', `cannot be used: ${wordsOf(error)}`),
  )
  if (entrypoint !== undefined && !Object.hasOwn(policy.entrypoints, entrypoint)) {
    const known = Object.keys(policy.entrypoints).join(', ')
    invalidPolicy('"entrypoint" of OPA', `must be one of the policy: ${known}`)
  }
  if (data) policy.setData(data)
  const decide = (question: Question): Decision | undefined => {
    const set = evaluate(() => policy.evaluate(readFacts(question), entrypoint ?? 0))
    return readVerdict(set, otherwise)
  }
  const said = [sha256(Buffer.from(bytes).toString('base64')), entrypoint ?? '', JSON.stringify(data ?? {})]
  return makeDecider(decide, [...said, otherwise])
}

/** OPA throws texts. */
function evaluate(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    throw new Error(`The policy failed: ${wordsOf(error)}`, { cause: error })
  }
}

/** A result set has at most one result for an entry point that is a rule. */
function readVerdict(set: unknown, otherwise: Otherwise): Decision | undefined {
  const results: unknown[] = Array.isArray(set) ? set : []
  const [first] = results as { result?: Json }[]
  const result = first?.result
  if (result === undefined) return otherwise === 'next' ? undefined : { then: otherwise }
  if (typeof result === 'boolean') return { then: result ? 'allow' : 'deny' }
  const { then, reason } = isJsonObject(result) ? result : { then: result, reason: undefined }
  const word = verdictWords.find(each => each === then)
  if (word === undefined || (reason !== undefined && typeof reason !== 'string'))
    throw new Error(
      `The policy gave ${JSON.stringify(result).slice(0, 200)}. It must give true, false, "allow", "ask", "deny", or { "then", "reason" }.`,
    )
  return { then: word, ...(reason !== undefined && { reason }) }
}
