// The gate that every call passes: arguments, authority, output, each in its own file. This one only takes the
// operator's settings, checks them and puts the three together.

import type { Gate } from '../engine/ports.ts'
import { TurnwireError } from '../language/errors.ts'
import { type ArgumentLimits, admit } from './arguments.ts'
import { createAuthoriser, type PolicyRule, type RuleFailure } from './authorise.ts'
import { liveText } from './live.ts'
import { finishClient, finishTool, type OutputSettings } from './output.ts'
import { createRedactor, type ReadyRedaction, type RedactRule } from './redact.ts'

export { checkLimits, defaultLimits } from './limits.ts'
export type { PolicyRule, ReadyRedaction, RedactRule, RuleFailure }

export type GateOptions = {
  /** In order: the first that fits decides. */
  rules?: readonly PolicyRule[]
  /** What to take out of results: own patterns and the names of ready ones (`secrets` for all of them). */
  redact?: readonly (RedactRule | ReadyRedaction)[]
  /** The longest arguments that a call may have. Default 4 MiB. */
  maxArgumentBytes?: number
  /** How deep arguments may nest. Default 64. */
  maxDepth?: number
  /** The largest result that is taken at all. Default 16 MiB. */
  maxOutputBytes?: number
  /** How much of a result may be images and files. Default 8 MiB. */
  mediaLimit?: number
  /** How much text a client may send as the result of its own tool. Default 256 KiB. */
  clientOutputLimit?: number
  /** Told when a rule's `when` failed; the call is denied all the same. */
  onRuleFailure?: RuleFailure
}

const KiB = 1024
const MiB = 1024 * KiB

export function createGate(options: GateOptions = {}): Gate {
  checkList(options.rules, 'rules')
  checkList(options.redact, 'redact')
  const limits: ArgumentLimits = {
    maxBytes: wholeNumber(options.maxArgumentBytes, 'maxArgumentBytes', 4 * MiB),
    maxDepth: wholeNumber(options.maxDepth, 'maxDepth', 64),
  }
  const settings: OutputSettings = {
    redactor: createRedactor(options.redact ?? []),
    maxOutputBytes: wholeNumber(options.maxOutputBytes, 'maxOutputBytes', 16 * MiB),
    mediaLimit: wholeNumber(options.mediaLimit, 'mediaLimit', 8 * MiB),
    clientOutputLimit: wholeNumber(options.clientOutputLimit, 'clientOutputLimit', 256 * KiB),
  }
  const { redactor } = settings
  const authorise = createAuthoriser(options.rules ?? [], options.onRuleFailure)
  return {
    admit: (call, tool) => admit(call, tool, limits),
    authorise,
    finish: (output, tool, callId) => finishTool(output, tool, callId, settings),
    live: () => (redactor === null ? undefined : liveText(redactor)),
    finishClient: (parts, failed, callId) => finishClient(parts, failed, callId, settings),
  }
}

function checkList(value: unknown, name: string): void {
  if (value !== undefined && !Array.isArray(value))
    throw new TurnwireError('config_invalid', `"${name}" of a policy must be a list.`)
}

function wholeNumber(value: number | undefined, name: string, otherwise: number): number {
  if (value === undefined) return otherwise
  if (!Number.isSafeInteger(value) || value < 1)
    throw new TurnwireError(
      'config_invalid',
      `"${name}" of a policy must be a whole number from 1 up, not ${String(value)}.`,
    )
  return value
}
