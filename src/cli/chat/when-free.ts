// A turn that has to wait because its session is still at work on the one before: begun from elsewhere, or left by a
// server that went away and taken up again. It is tried again until it is let in; interrupting it ends what it waits for.
import { setTimeout } from 'node:timers/promises'
import { type AapClient, AapError, type RunTurnOptions, type RunTurnResult } from '../../client/index.ts'

const pauseMs = 400

/** `onWait` is told once, when there is something to wait for. */
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
      // Once it has begun, trying again would say everything twice.
      if (begun || !(error instanceof AapError) || error.code !== 'busy') throw error
    }
    if (tried === 0) onWait()
    await setTimeout(pauseMs, undefined, { signal }).catch(() => {})
    if (signal.aborted) {
      await client.cancel(sessionId)
      return { stopReason: 'cancelled', messages: [], pending: [] }
    }
  }
}
