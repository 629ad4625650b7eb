// What a session's settings say at one door.
import type { Ask, Settings } from './events.ts'

/** What is asked of the model in a turn that was started at this door. */
export function askOf(settings: Settings, door: string | undefined): Ask {
  const { choice, parallel, maxTokens, maxCalls, system, body } = settings
  const own = door === undefined ? undefined : settings.asks?.[door]
  return {
    ...(choice !== undefined && { choice }),
    ...(parallel !== undefined && { parallel }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxCalls !== undefined && { maxCalls }),
    ...(system !== undefined && { system }),
    ...(body !== undefined && { body }),
    ...own,
  }
}
