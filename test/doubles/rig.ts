// What the tests of the strict doubles share: refusals of single values as a table, requests over HTTP, and short ways to write
// the items of a Responses request.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Rejection, RunningDouble, VendorName } from '../../src/testing/doubles/index.ts'
import type { JsonRecord } from '../../src/testing/doubles/shape.ts'
import { checkRequestAll } from '../../src/testing/doubles/vendors.ts'

/** How the vendor's message begins, and what is changed in a request that is right. */
export type ShapeCase = [rule: string, message: string, patch: JsonRecord]

/** One test for each case: the double refuses the value by this rule, in these words. `always`: what else each refusal says. */
export function refusesEach(
  vendor: VendorName,
  right: JsonRecord,
  cases: readonly ShapeCase[],
  always: Partial<Rejection>,
): void {
  for (const [rule, message, patch] of cases)
    test(`${rule} ${message}`, () => {
      // What is undefined is not sent.
      const body = Object.entries({ ...right, ...patch }).filter(([, value]) => value !== undefined)
      const found = checkRequestAll(vendor, Object.fromEntries(body))
      const own = found.find(each => each.message.startsWith(message))
      assert.ok(own, JSON.stringify(found))
      assert.partialDeepStrictEqual(own, { rule, ...always })
    })
}

/** The status and the body of an answer to a request with any key of Google's. */
export async function postGoogle(
  double: RunningDouble,
  path: string,
  body: string,
  type = 'application/json',
): Promise<[number, JsonRecord]> {
  const headers = { 'x-goog-api-key': 'k', 'content-type': type }
  const response = await fetch(double.url + path, { method: 'POST', headers, body })
  // Every answer of a double is an object.
  return [response.status, (await response.json()) as JsonRecord]
}

export const shownError = ([status, { error }]: [number, JsonRecord]): string =>
  `${status} ${(error as { message: string }).message}`

// ---- Responses -----------------------------------------------------------------------------------------------------

export const userItem = { role: 'user', content: 'hello' }

export const callItem = (call_id: string, more: JsonRecord = {}): JsonRecord => ({
  type: 'function_call',
  call_id,
  name: 'read',
  arguments: '{}',
  ...more,
})

export const outputItem = (call_id: string, more: JsonRecord = {}): JsonRecord => ({
  type: 'function_call_output',
  call_id,
  output: 'ok',
  ...more,
})

export const responsesBody = (input: unknown, more: JsonRecord = {}): JsonRecord => ({
  model: 'm',
  input,
  ...more,
})

export const responsesTool = (name: string, more: JsonRecord = {}): JsonRecord => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
  ...more,
})
