// Replays for tests of programs: a log, and the configuration that it is played with.
import { buildAgents } from '../config/build-agent.ts'
import type { TurnwireConfig } from '../config/config.ts'
import type { Recorded } from '../language/events.ts'
import { readRecording } from './recording.ts'
import { type ReplayOptions, type ReplayReport, replay } from './replay.ts'

export type { Difference, NewCall, ReplayTotals } from './compare.ts'
export { readRecording } from './recording.ts'
export type { ReplayReport, Simulation } from './replay.ts'
export { type ChangeToTry, type TryOptions, tryChange } from './try-change.ts'

/** Plays a recorded session again with this configuration. Nothing is sent, unless models are `live`, and no tool runs. */
export function replaySession(
  session: string,
  log: readonly Recorded[],
  config: TurnwireConfig,
  options: Omit<ReplayOptions, 'agents'> = {},
): Promise<ReplayReport> {
  return replay(readRecording(session, log), { ...options, agents: buildAgents(config, () => {}) })
}
