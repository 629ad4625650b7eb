// Runs a turn in a session that may still be at work on another one, which was begun elsewhere or resumed after a restart.
// The turn is tried until it is accepted. An interrupt meanwhile cancels the other turn.
import { setTimeout } from 'node:timers/promises'
import { type AapClient, AapError, type RunTurnOptions, type RunTurnResult } from '../../client/index.ts'

const pauseMs = 400

/** `onWait` is called once, if there is something to wait for. */
export async function runWhenFree(
  client: AapClient,
  options: RunTurnOptions & { signal: AbortSignal },
  onWait: () => void,
): Promise<RunTurnResult> {
  const { sessionId, signal } = options
  for (let tried = 0; ; tried += 1) {
    let begun = false
    try {
      return await client.runTurn({
        ...options,
        onEvent: event => {
          begun = true
          options.onEvent?.(event)
        },
      })
    } catch (error) {
      // A turn that has begun must not be sent again.
      if (begun || !(error instanceof AapError) || error.code !== 'busy') throw error
    }
    if (tried === 0) onWait()
    await setTimeout(pauseMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) {
      await client.cancel(sessionId)
      return { stopReason: 'cancelled', messages: [], pending: [], questions: [] }
    }
  }
}
