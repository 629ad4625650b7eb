// AG-UI has no word for steering: a message that comes on another wire joins the run, which shows what comes of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rig, until } from '../rig.ts'

test('a run shows the answer to a message that joined it on another wire', async t => {
  const server = await rig(t, {
    script: ({ history }) => {
      if (JSON.stringify(history).includes('blue')) return { text: 'Blue it is.' }
      return history.at(-1)?.role === 'tool' ? { text: 'Done.' } : { calls: [{ name: 'slow', input: {} }] }
    },
  })
  const run = await server.request('POST', '/agui/helper', {
    ...{ threadId: 't1', runId: 'r1', tools: [], context: [], state: {}, forwardedProps: {} },
    messages: [{ id: 'm1', role: 'user', content: 'go' }],
  })
  await until(() => server.runs.length > 0)
  const turn = { during: 'steer', messages: [{ role: 'user', content: 'Make it blue' }] }
  const steered = await server.request('POST', `/sessions/${run.headers.get('x-session-id')}/turns`, turn)
  assert.equal(steered.status, 202)
  server.release()
  const shown = await run.text()
  assert.match(shown, /"delta":"Blue it is\."/)
  assert.equal(shown.match(/RUN_FINISHED/g)?.length, 1)
})
