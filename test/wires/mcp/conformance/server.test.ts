// The MCP conformance suite against our server: every scenario of both revisions.
import assert from 'node:assert/strict'
import test, { after, describe } from 'node:test'
import { scripted, startServer, Turnwire } from '../../../../src/index.ts'
import { differences } from '../../../tools/mcp/conformance/compare.ts'
import { expectedFailures } from '../../../tools/mcp/conformance/expected-failures.ts'
import { revisions, runSuite, scenariosOf } from '../../../tools/mcp/conformance/suite.ts'
import { suitePrompts, suiteResources, suiteTools, taskAfterMs, taskTools } from './agent.ts'

const further = ['sep-2640-skills-directory', 'sep-2640-skills-enumeration', 'sep-2640-skills-manifest']

describe('the conformance suite, for the server', async () => {
  const turnwire = await Turnwire.open(
    {
      agents: [
        {
          name: 'suite',
          model: scripted([]),
          tools: [...suiteTools, ...taskTools],
          resources: suiteResources,
          prompts: suitePrompts,
          serveMcp: {
            tools: true,
            ask: true,
            resources: true,
            prompts: true,
            tasks: { afterMs: taskAfterMs, required: ['failing_job', 'test_tool_with_task'] },
          },
        },
      ],
      data: 'memory',
    },
    { log: () => {} },
  )
  const server = await startServer(turnwire, { port: 0 })
  after(async () => {
    await server.stop()
    await turnwire.close()
  })
  const target = ['--url', `${server.url}/mcp/suite`]

  for (const revision of revisions)
    test(`revision ${revision}`, async () => {
      const results = await runSuite('server', revision, target)
      assert.deepEqual(
        results.map(({ scenario }) => scenario),
        scenariosOf('server', revision),
      )
      assert.deepEqual(differences('server', revision, results, expectedFailures), [])
    })

  test('scenarios of no revision', async () => {
    const found = await Promise.all(further.map(scenario => runSuite('server', { scenario }, target)))
    assert.deepEqual(differences('server', undefined, found.flat(), expectedFailures), [])
  })
})
