// GET /metrics, for Prometheus. With keys, it takes one with the operator scope, as the operator API does.
import { Hono } from 'hono'
import type { Engine } from '../engine/index.ts'
import type { WireEnv } from '../wires/host.ts'
import { requireOperator } from '../wires/operator/index.ts'
import type { Measures, WaitingCounts } from './measures.ts'

/** Sessions that wait beyond these are not counted. */
const pageSize = 500
const mostPages = 20
/** How long a count is good for. */
const goodForMs = 10_000

export function metricsRoute(measures: Measures, engine: Engine): Hono<WireEnv> {
  const app = new Hono<WireEnv>()
  let countedAt = -Infinity
  app.get('/metrics', async c => {
    requireOperator(c)
    if (performance.now() - countedAt > goodForMs) {
      countedAt = performance.now()
      // A store that cannot be read now leaves the last count.
      measures.waiting = await countWaiting(engine).catch(() => measures.waiting)
    }
    return c.body(measures.registry.text(), 200, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    })
  })
  return app
}

async function countWaiting(engine: Engine): Promise<WaitingCounts> {
  const waiting = { sessions: 0, approvals: 0 }
  let after: string | undefined
  for (let page = 0; page < mostPages; page++) {
    const { rows, next } = await engine.list(null, {
      status: 'waiting',
      limit: pageSize,
      ...(after !== undefined && { after }),
    })
    waiting.sessions += rows.length
    for (const { facts } of rows) waiting.approvals += facts?.asks ?? 0
    if (next === undefined) break
    after = next
  }
  return waiting
}
