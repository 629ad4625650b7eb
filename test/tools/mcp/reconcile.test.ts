// A call that became a task at its MCP server is asked about by the id of the task.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReconcileContext } from '../../../src/engine/ports/index.ts'
import { scripted, startServer, Turnwire } from '../../../src/index.ts'
import { contextFor } from '../../../src/testing/contracts/tool.ts'
import { mcpServer } from '../../../src/tools/index.ts'
import { taskAfterMs, taskTools } from '../../wires/mcp/conformance/agent.ts'

test('a task that has ended gives the result of its call, and nothing is run again', async t => {
  const tasks = { afterMs: taskAfterMs, required: ['slow_compute'] }
  const inner = await Turnwire.open(
    {
      agents: [{ name: 'jobs', model: scripted([]), tools: taskTools, serveMcp: { tools: true, tasks } }],
      data: 'memory',
    },
    { log: () => {} },
  )
  const server = await startServer(inner, { port: 0 })
  const connection = await mcpServer({ name: 'jobs', url: `${server.url}/mcp/jobs` })
  t.after(async () => {
    await connection.close()
    await server.stop()
    await inner.close()
  })
  const made = connection.tools.find(({ name }) => name.endsWith('slow_compute'))
  assert.ok(made && 'reconcile' in made)
  // Longer than the server waits before it makes a task of a call.
  const wanted = { seconds: taskAfterMs / 1000 + 0.2 }
  const references: string[] = []
  const refer = async (reference: string) => void references.push(reference)
  const context = contextFor({ refer })
  const { sources: _, ...output } = await made.run(wanted, context)
  assert.equal(references.length, 1)
  const asked = (reference?: string): ReconcileContext => ({
    ...contextFor(),
    key: 'key-1',
    ...(reference !== undefined && { reference }),
  })
  const answer = await made.reconcile(wanted, asked(references[0]))
  assert.ok(typeof answer === 'object')
  assert.deepEqual(answer.ran.parts, output.parts)
  assert.equal(await made.reconcile(wanted, asked()), 'unknown')
  await assert.rejects(async () => made.reconcile?.(wanted, asked('no-such-task')))
})
