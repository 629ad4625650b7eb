// The outcomes that the runtime itself gives, in the words that a model reads.

import {
  checkCallName,
  checkedWords,
  type Found,
  type Outcome,
  type OutcomeKind,
  type Provenance,
} from '../../language/calls.ts'
import { TurnwireError } from '../../language/errors.ts'

export function said(kind: OutcomeKind, text: string, from: Provenance = { source: 'runtime' }): Outcome {
  return { kind, parts: [{ type: 'text', text }], from }
}

export const deniedPrefix = 'Tool call denied: '

export const outcomes = {
  unknownTool: (name: string, offered: readonly string[]) =>
    said(
      'invalid',
      `There is no tool named ${JSON.stringify(name)}. ${
        offered.length === 0 ? 'No tools are offered.' : `Offered are: ${offered.slice(0, 50).join(', ')}.`
      }`,
    ),
  notLoaded: (name: string, search: string | undefined) =>
    said(
      'invalid',
      `The tool ${JSON.stringify(name)} is not loaded, and was not run. ${
        search === undefined
          ? 'Search for it first.'
          : `Search for it with ${JSON.stringify(search)} first, then call it.`
      }`,
    ),
  invalid: (reason: string) => said('invalid', `The tool was not run: ${reason}`),
  deniedByPolicy: (reason: string) => said('denied', `${deniedPrefix}${reason}`),
  deniedByPerson: (by: string, reason?: string) =>
    said('denied', reason ? `Tool call denied: ${reason}` : 'Tool call denied', { source: 'person', by }),
  limit: (words: string) => said('denied', `The tool was not run: ${words}`),
  timeout: (ms: number) =>
    said('timeout', `The tool did not finish within ${ms} ms and was stopped. It may have taken effect.`),
  neverCame: () =>
    said('timeout', 'The tool began, but its result did not come in time. It may have taken effect.'),
  outOfTime: () =>
    said('timeout', 'The turn ran out of time. The tool was stopped; it may have taken effect.'),
  cancelled: (started: boolean) =>
    said(
      'cancelled',
      started
        ? 'Cancelled while it was running. It may have taken effect.'
        : 'Cancelled before it ran. It had no effect.',
    ),
  cancelledBy: (started: boolean, by: string, reason?: string) =>
    said(
      'cancelled',
      `${
        started
          ? 'This call was cancelled while it was running. It may have taken effect.'
          : 'This call was cancelled before it ran. It had no effect.'
      }${reason ? ` Reason: ${reason}` : ''}`,
      { source: 'person', by },
    ),
  interrupted: (started: boolean) =>
    said(
      'cancelled',
      started
        ? 'Stopped while it was running, because the user has sent a message. It may have taken effect.'
        : 'Not run: the user has sent a message.',
    ),
  abandoned: () => said('abandoned', 'Not run: the user sent a new message before this call was answered.'),
  unknown: () =>
    said(
      'unknown',
      'The server stopped while this tool was running, and it is not known whether it took effect. It was not run again. Check before repeating it.',
    ),
  noEffect: (ms: number) =>
    said(
      'timeout',
      `The tool did not finish within ${ms} ms and was stopped. It was checked: it did not take effect.`,
    ),
  didNotRun: (): Outcome => ({
    ...said('error', 'It was checked: this call did not take effect. It may be made again.'),
    checked: true,
  }),
  /** The runtime's own words: nothing of the tool's output may stand where instructions stand. */
  notice: ({ callId, tool, found }: { callId: string; tool: string; found: Found }): string =>
    `The call ${callId} of the tool ${JSON.stringify(tool)}${checkedWords}${
      found === 'ran'
        ? `it took effect. Do not repeat it. Its result can be read with ${checkCallName}.`
        : 'it did not take effect.'
    }`,
  failed: (message: string, tool: string) =>
    said('error', `The tool failed: ${message}`, { source: 'tool', tool }),
} as const

/** Why work ends when the engine stops. */
export function stoppedEngine(): TurnwireError {
  return new TurnwireError('stopping', 'Turnwire is stopping. Work under way continues after the restart.')
}
