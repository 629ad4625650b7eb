// Two things that are made of a recorded session: what it would have come to with one thing changed, and a case for evaluations. Neither
// records anything.
import type { Hono } from 'hono'
import type { SessionRef } from '../../engine/index.ts'
import { TurnwireError } from '../../language/errors.ts'
import type { Recorded } from '../../language/events.ts'
import type { WireEnv } from '../host.ts'
import { readJsonObject, sendJson } from '../http/index.ts'
import { type C, findForOperator, findSessionRef, type Served } from './access.ts'
import { decodeTrial } from './decode.ts'
import { encodeEvent } from './encode.ts'
import type { TrialAnswer } from './schema.ts'

/** Longer logs are for the command. */
const mostBytes = 16 * 1024 * 1024
const pageBytes = 1024 * 1024
/** Of the model's answers too. */
const patienceMs = 120_000

export function tryRoutes(app: Hono<WireEnv>, { host, backend }: Served): void {
  app.post('/operator/sessions/:id/try', async c => {
    // It has the agent's instructions, and a model may be asked.
    const ref = await findForOperator(c)
    const change = decodeTrial(await readJsonObject(c, host.limits))
    const log = await readWholeLog(c, ref)
    if (change.at > log.length)
      throw new TurnwireError('bad_request', `"at" must be a whole number from 1 to ${log.length}.`)
    const signal = AbortSignal.any([c.req.raw.signal, AbortSignal.timeout(patienceMs)])
    const tried = await backend.tryChange(ref.session, log, change, signal).catch((error: unknown) => {
      if (error !== signal.reason) throw error
      throw new TurnwireError('model_timeout', `It took longer than ${patienceMs / 1000} seconds.`)
    })
    const { log: events, differences, left, then, now } = tried
    const shown = events.map((event, index) => ({
      seq: index + 1,
      event: encodeEvent(event, c.get('principal')),
    }))
    const answer: TrialAnswer = { differences, ...(left && { left }), then, now, events: shown }
    return sendJson(c, answer)
  })
  app.get('/operator/sessions/:id/eval', async c => {
    const ref = await findSessionRef(c)
    const { agent } = await c.get('engine').summary(ref)
    const log = await readWholeLog(c, ref)
    const events = log.map(({ event }) => encodeEvent(event, c.get('principal')))
    return sendJson(c, { text: await backend.evalCase(agent, ref.session, events) })
  })
}

async function readWholeLog(c: C, ref: SessionRef): Promise<Recorded[]> {
  const log: Recorded[] = []
  for (let pages = 0; pages * pageBytes < mostBytes; pages++) {
    const page = await c.get('engine').events(ref, log.length, pageBytes)
    if (page.length === 0) return log
    for (const recorded of page) log.push(recorded)
  }
  throw new TurnwireError('too_large', 'The log is longer than 16 MiB. Use turnwire replay or turnwire eval.')
}
