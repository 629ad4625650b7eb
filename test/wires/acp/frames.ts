// Holds every frame that the agent sends against the protocol's own JSON Schema, by method: requests and notifications by
// their parameters, responses by the request that they answer. Stricter than the SDK, which forgives.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { JsonObject } from '../../../src/lib/json/index.ts'

export type Frame = {
  jsonrpc?: string
  id?: string | number | null
  method?: string
  params?: JsonObject
  result?: JsonObject
  error?: { code: number; message: string; data?: unknown }
}

type Kind = 'Request' | 'Response' | 'Notification'

function load(version: 1 | 2): (kind: Kind, method: string) => ValidateFunction | undefined {
  const file = fileURLToPath(import.meta.resolve(`@agentclientprotocol/sdk/schema/v${version}/schema.json`))
  const schema = JSON.parse(readFileSync(file, 'utf8')) as { $defs: Record<string, { 'x-method'?: string }> }
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  ajv.addSchema(schema, 'acp')
  const names = new Map<string, string>()
  for (const [name, { 'x-method': method }] of Object.entries(schema.$defs)) {
    const kind = /(Request|Response|Notification)$/.exec(name)?.[1]
    if (method !== undefined && kind !== undefined) names.set(`${kind} ${method}`, name)
  }
  return (kind, method) => {
    const name = names.get(`${kind} ${method}`)
    return name === undefined ? undefined : ajv.getSchema(`acp#/$defs/${name}`)
  }
}

const schemas = { 1: load(1), 2: load(2) }

export class FrameCheck {
  readonly #find: ReturnType<typeof load>
  readonly #asked = new Map<string, string>()
  /** What was wrong, in words. A test that ends with any has failed. */
  readonly problems: string[] = []
  checked = 0

  constructor(version: 1 | 2 = 1) {
    this.#find = schemas[version]
  }

  sentByClient(frame: Frame): void {
    if (frame.method !== undefined && frame.id !== undefined)
      this.#asked.set(JSON.stringify(frame.id), frame.method)
  }

  sentByAgent(frame: Frame): void {
    this.checked += 1
    if (frame.jsonrpc !== '2.0') this.problems.push(`no jsonrpc in ${JSON.stringify(frame)}`)
    if (frame.method !== undefined)
      this.#check(frame.id === undefined ? 'Notification' : 'Request', frame.method, frame.params)
    else if (frame.result !== undefined) {
      const method = this.#asked.get(JSON.stringify(frame.id))
      if (method === undefined) this.problems.push(`an answer to nothing: ${JSON.stringify(frame)}`)
      else this.#check('Response', method, frame.result)
    } else if (!Number.isInteger(frame.error?.code) || typeof frame.error?.message !== 'string')
      this.problems.push(`not an error: ${JSON.stringify(frame)}`)
  }

  #check(kind: Kind, method: string, value: unknown): void {
    const validate = this.#find(kind, method)
    if (!validate) this.problems.push(`${kind} ${method} is not of the protocol`)
    else if (!validate(value))
      this.problems.push(
        `${kind} ${method}: ${validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`).join('; ')} in ${JSON.stringify(value).slice(0, 500)}`,
      )
  }

  assertClean(): void {
    assert.deepEqual(this.problems, [])
    assert.ok(this.checked > 0, 'frames were checked')
  }
}
