// Clients that work while something happens to the nodes or to their database, and readers that watch. What clients sent is
// there once, and readers missed nothing: checked at the end.
import assert from 'node:assert/strict'
import { setTimeout as pause } from 'node:timers/promises'
import { historyOf, insist, say, watch } from './processes.ts'

export type Load = {
  /** How many turns have been answered. */
  turns(): number
  /** Resolves when the last request of every client is answered. */
  stop(): Promise<void>
  /** Asks these nodes for what has become of it. */
  check(): Promise<void>
}

/** `any`: the address of one of the nodes, another one each time. The first sessions are watched too. */
export function startLoad(sessions: readonly string[], any: () => string, watched = 4): Load {
  let isOver = false
  const failures: string[] = []
  const sent = new Map<string, number>(sessions.map(id => [id, 0]))
  /** A client as any: it sends its request again, with its key, when a connection breaks or the server says 503. */
  const client = async (id: string): Promise<void> => {
    for (let turn = 0; !isOver; turn++) {
      const key = `${id}-${turn}`
      const words = turn % 3 === 0 ? 'A slow one' : 'Hello'
      try {
        const answer = await insist(async () => {
          const given = await say(any(), id, words, key)
          // The answer had begun when the node lost the session: its status was sent before.
          if (given.code === 'lease_lost') throw new Error('503 lease_lost')
          return given
        })
        if (answer.stopReason !== 'end_turn') failures.push(`${key} ended with ${JSON.stringify(answer)}`)
      } catch (error) {
        failures.push(`${key}: ${error instanceof Error ? error.message : String(error)}`)
        return
      }
      sent.set(id, turn + 1)
    }
  }
  /** A reader that connects again with the last id that it has. */
  const seen = new Map<string, number[]>(sessions.slice(0, watched).map(id => [id, []]))
  const ending = new AbortController()
  const reader = async (id: string, numbers: number[]): Promise<void> => {
    while (!ending.signal.aborted)
      try {
        for await (const event of watch(any(), id, String(numbers.at(-1) ?? 0), ending.signal))
          numbers.push(Number(event.id))
      } catch {
        await pause(100)
      }
  }
  const clients = sessions.map(client)
  const readers = [...seen].map(([id, numbers]) => reader(id, numbers))
  return {
    turns: () => [...sent.values()].reduce((sum, each) => sum + each, 0),
    async stop() {
      isOver = true
      await Promise.all(clients)
      ending.abort()
      await Promise.all(readers)
    },
    async check() {
      assert.deepEqual(failures, [])
      for (const id of sessions) {
        const history = await historyOf(any(), id)
        // Each turn has one question and one answer.
        assert.equal(history.filter(({ role }) => role === 'user').length, sent.get(id))
        assert.equal(history.filter(({ role }) => role === 'assistant').length, sent.get(id))
      }
      for (const numbers of seen.values()) {
        assert.ok(numbers.length > 0)
        assert.deepEqual(
          numbers,
          numbers.map((_, index) => index + 1),
        )
      }
    },
  }
}
