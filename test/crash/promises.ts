// Checks what must hold after any crash, from the database and from the files that the tools and the model wrote.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fold } from '../../src/engine/index.ts'
import type { Recorded } from '../../src/language/events.ts'
import type { Entry } from '../../src/language/history.ts'
import { defaultLimits } from '../../src/policy/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { refusals } from '../faults/accepted.ts'
import { type CallRecord, LogRules } from '../sim/log-rules.ts'
import { wrongHistory } from '../sim/model.ts'

const exposed = { trust: 'ask', exposed: true } as const
const tools: Record<string, typeof exposed> = {
  look: exposed,
  put: exposed,
  pay: exposed,
  mail: exposed,
  survey: exposed,
}

export async function logOf(folder: string, id: string): Promise<Recorded[]> {
  const store = sqliteStore({ file: join(folder, 'sessions.db') })
  try {
    return await store.read(id)
  } finally {
    await store.close()
  }
}

/** A log that follows the rules of events, and whose history the vendors take. */
export async function validLog(folder: string, id: string): Promise<{ log: Recorded[]; entries: Entry[] }> {
  const log = await logOf(folder, id)
  const rules = new LogRules(id, () => ({ trust: 'trusted', exposed: false }), defaultLimits)
  for (const { event } of log) assert.equal(rules.append([event], 1), undefined)
  const { entries } = fold(id, log)
  assert.deepEqual(refusals(entries), [])
  return { log, entries }
}

function linesOf(folder: string, file: string): string[] {
  const path = join(folder, file)
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
}

export type Effect = { tool: string; callId: string; key: string; attempt: number }

export function effectsOf(folder: string): Effect[] {
  return linesOf(folder, 'effects').map(line => {
    const [tool = '', callId = '', key = '', attempt = ''] = line.split(' ')
    return { tool, callId, key, attempt: Number(attempt) }
  })
}

/** Returns the calls in the log. */
export async function checkPromises(folder: string, id: string): Promise<Map<string, CallRecord>> {
  const log = await logOf(folder, id)
  const rules = new LogRules(id, name => tools[name], defaultLimits)
  for (const [at, { seq, event }] of log.entries()) {
    assert.equal(seq, at + 1, 'numbered without gaps')
    assert.equal(rules.append([event], 1), undefined)
  }
  checkEffects(rules.calls, effectsOf(folder))
  for (const line of new Set(linesOf(folder, 'requests'))) {
    // The server wrote it from what the engine gave its model.
    checkHistory(JSON.parse(line) as Entry[])
  }
  checkHistory(fold(id, log).entries)
  return rules.calls
}

function checkHistory(history: readonly Entry[]): void {
  assert.equal(wrongHistory(history), undefined)
  assert.deepEqual(refusals(history), [])
}

function checkEffects(calls: ReadonlyMap<string, CallRecord>, effects: readonly Effect[]): void {
  for (const { callId, key } of effects) {
    assert.ok(calls.has(callId), `${callId} ran and is not in the log`)
    assert.equal(key, callId, `${callId} ran under another key`)
  }
  for (const [callId, call] of calls) {
    const ran = effects.filter(effect => effect.callId === callId).length
    const { name } = call.part
    const kind = call.outcome?.kind
    assert.ok(kind !== undefined, `${callId} (${name}) was never settled`)
    if (name === 'pay' || name === 'mail') {
      assert.ok(ran <= 1, `${name} ran ${ran} times`)
      assert.ok(kind === 'ok' || kind === 'unknown', `${name} is ${kind}`)
      if (kind === 'ok') assert.equal(ran, 1)
    } else if (name !== 'ring') {
      assert.equal(kind, 'ok', `${name} may be repeated, so it is done in the end`)
      assert.ok(ran >= 1)
    }
  }
}
