// What a session's settings say at one door.
import type { Ask, Settings } from './events.ts'

/** What is asked of the model in a turn that was started at this door. */
export function askOf(settings: Settings, door: string | undefined): Ask {
  const own = door === undefined ? undefined : settings.asks?.[door]
  return own ? { ...settings, ...own } : settings
}
