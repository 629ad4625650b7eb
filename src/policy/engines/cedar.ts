// Rules in Cedar, decided by `@cedar-policy/cedar-wasm`, which the operator installs. Cedar knows permit and forbid; a forbid with the
// annotation @then("ask") forbids a call only as long as nobody was asked. A policy that fails is never left out, as Cedar
// itself would do: then a forbid would be lost. The call is denied.
import type { AuthorizationCall, CedarValueJson, EntityJson } from '@cedar-policy/cedar-wasm/nodejs'
import type { Json } from '../../lib/json/index.ts'
import { invalidPolicy } from '../invalid-policy.ts'
import type { Decider, Decision } from '../rules.ts'
import { loadEngine, makeDecider, type Otherwise, type PolicyFacts, readFacts } from './facts.ts'

type Cedar = typeof import('@cedar-policy/cedar-wasm/nodejs')
type Verdict = Decision | Otherwise

export type CedarOptions = {
  /** Policies, as text. */
  policies: string
  /** A schema, as text or JSON. The policies are checked against it when they are loaded, and each request too. */
  schema?: string | Record<string, unknown>
  /** Entities besides the tool of the call, such as the groups of owners. */
  entities?: readonly unknown[]
  /** Where no policy speaks. Default: `deny`, as in Cedar. */
  otherwise?: Otherwise
}

type Annotated = { effect: 'permit' | 'forbid'; then?: string | undefined; reason?: string | undefined }

export async function cedar(options: CedarOptions): Promise<Decider> {
  const name = '@cedar-policy/cedar-wasm'
  const engine = await loadEngine<Cedar>(name, () => import('@cedar-policy/cedar-wasm/nodejs'))
  const { policies, schema, entities = [], otherwise = 'deny' } = options
  const known = readPolicies(engine, policies)
  const said = [policies, JSON.stringify(schema ?? null), JSON.stringify(entities), otherwise]
  made += 1
  const id = `turnwire ${made}`
  const staticPolicies = Object.fromEntries([...known].map(([name, { text }]) => [name, text]))
  accept(engine.preparsePolicySet(id, { staticPolicies }), 'The policies')
  if (schema !== undefined) checkSchema(engine, id, schema as string, staticPolicies) // Cedar checks what it is.
  const added = entities as EntityJson[] // Cedar checks them with each request.
  return makeDecider(question => {
    const facts = readFacts(question)
    const answer = engine.statefulIsAuthorized({
      ...makeRequest(facts),
      preparsedPolicySetId: id,
      ...(schema !== undefined && { preparsedSchemaName: id, validateRequest: true }),
      entities: [toolEntity(facts), ...added],
    })
    if (answer.type === 'failure') throw new Error(answer.errors.map(({ message }) => message).join(' '))
    const { decision, diagnostics } = answer.response
    const [failed] = diagnostics.errors
    if (failed) throw new Error(`The policy ${failed.policyId} failed: ${failed.error.message}`)
    const verdict = readVerdict(decision, diagnostics.reason, known, otherwise)
    return verdict === 'next' ? undefined : verdict
  }, said)
}

/** Names of policy sets, which Cedar keeps for the whole process. */
let made = 0

// ---- policies ------------------------------------------------------------------------------------------------

function readPolicies(engine: Cedar, text: string): Map<string, Annotated & { text: string }> {
  const parts = engine.policySetTextToParts(text)
  if (parts.type === 'failure') return refuse(parts.errors)
  if (parts.policy_templates.length > 0) invalidPolicy('A Cedar policy', 'must not be a template')
  const known = new Map<string, Annotated & { text: string }>()
  for (const [index, each] of parts.policies.entries()) {
    const read = engine.policyToJson(each)
    if (read.type === 'failure') return refuse(read.errors)
    const { effect, annotations = {} } = read.json
    const { id = `policy${index}`, then, reason } = annotations
    if (known.has(id)) invalidPolicy(`The Cedar policy ${id}`, 'must have an id of its own')
    if (then !== undefined && (then !== 'ask' || effect !== 'forbid'))
      invalidPolicy(`@then of the Cedar policy ${id}`, 'must be "ask", and stand at a forbid')
    known.set(id, { text: each, effect, then, reason })
  }
  return known
}

function checkSchema(
  engine: Cedar,
  id: string,
  schema: string,
  staticPolicies: Record<string, string>,
): void {
  accept(engine.preparseSchema(id, schema), 'The schema')
  const found = engine.validate({ schema, policies: { staticPolicies } })
  if (found.type === 'failure') refuse(found.errors)
  else if (found.validationErrors.length > 0) refuse(found.validationErrors.map(({ error }) => error))
}

function accept(
  answer: { type: 'success' } | { type: 'failure'; errors: { message: string }[] },
  what: string,
): void {
  if (answer.type === 'failure') refuse(answer.errors, what)
}

function refuse(errors: readonly { message: string }[], what = 'The policies'): never {
  return invalidPolicy(
    `${what} of Cedar`,
    `cannot be used: ${errors.map(({ message }) => message).join('; ')}`,
  )
}

// ---- a request -----------------------------------------------------------------------------------------------

type Request = Pick<AuthorizationCall, 'principal' | 'action' | 'resource' | 'context'>

function makeRequest({ tool, agent, owner, session, ...rest }: PolicyFacts): Request {
  const { requesters, warranted, turn, earlier, input } = rest
  const context = { agent, session, requesters, turn, earlier, input: toCedar(input) ?? {} }
  return {
    principal: { type: 'Owner', id: owner },
    action: { type: 'Action', id: 'call' },
    resource: { type: 'Tool', id: tool.name },
    context: { ...context, ...(warranted !== undefined && { warranted }) },
  }
}

function toolEntity({ tool: { name, ...attrs }, trust }: PolicyFacts): EntityJson {
  return { uid: { type: 'Tool', id: name }, attrs: { ...attrs, trust }, parents: [] }
}

const escapes = ['__entity', '__extn', '__expr']

/** Arguments come from a model: a value that Cedar would read as an entity or as an extension is refused. */
function toCedar(value: Json): CedarValueJson | undefined {
  if (value === null) return undefined
  if (typeof value === 'number') return toNumber(value)
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) return value.flatMap(each => toCedar(each) ?? [])
  const members = Object.entries(value).flatMap(([name, member]) => {
    if (escapes.includes(name)) throw new Error(`The argument "${name}" means something else to Cedar.`)
    const given = toCedar(member)
    return given === undefined ? [] : [[name, given] as const]
  })
  return Object.fromEntries(members)
}

/** Cedar has whole numbers, and decimals with at most four digits. */
function toNumber(value: number): CedarValueJson {
  if (Number.isSafeInteger(value)) return value
  const text = value.toFixed(4)
  if (Number(text) !== value || Math.abs(value) > 9e14) throw new Error(`Cedar has no number for ${value}.`)
  return { __extn: { fn: 'decimal', arg: text } }
}

// ---- an answer -----------------------------------------------------------------------------------------------

function readVerdict(
  decision: 'allow' | 'deny',
  reasons: readonly string[],
  known: ReadonlyMap<string, Annotated>,
  otherwise: Otherwise,
): Verdict {
  if (decision === 'allow') return 'allow'
  // Without a reason no policy spoke. With one, these are the policies that forbid it.
  if (reasons.length === 0) return otherwise
  const forbids = reasons.map(id => ({ id, ...known.get(id) }))
  const firm = forbids.find(({ then }) => then === undefined)
  const { id, reason = `The policy ${id} forbids it.` } = firm ?? forbids[0]!
  return firm ? { then: 'deny', reason } : { then: 'ask', reason }
}
