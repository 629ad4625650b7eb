// The MCP conformance suite against our client: every scenario of both revisions.
import assert from 'node:assert/strict'
import test, { after, describe } from 'node:test'
import { listenForScenarios } from './client.ts'
import { differences } from './compare.ts'
import { expectedFailures } from './expected-failures.ts'
import { revisions, runSuite, scenariosOf } from './suite.ts'

/** Scenarios that belong to no revision's set: servers without resource metadata, and an extension. */
const further = [
  'auth/2025-03-26-oauth-metadata-backcompat',
  'auth/2025-03-26-oauth-endpoint-fallback',
  'sep-2640-client-no-prefetch',
  'sep-2640-client-verify-digest',
  'sep-2640-client-verify-size',
  'sep-2640-client-verify-frontmatter',
]

describe('the conformance suite, for the client', async () => {
  const listening = await listenForScenarios()
  const { command } = listening
  after(() => listening.close())

  for (const revision of revisions)
    test(`revision ${revision}`, async () => {
      const results = await runSuite('client', revision, ['--command', command])
      assert.deepEqual(
        results.map(({ scenario }) => scenario),
        scenariosOf('client', revision),
      )
      assert.deepEqual(differences('client', revision, results, expectedFailures), [])
    })

  test('scenarios of no revision', async () => {
    const found = await Promise.all(
      further.map(scenario => runSuite('client', { scenario }, ['--command', command])),
    )
    assert.deepEqual(differences('client', undefined, found.flat(), expectedFailures), [])
  })
})
