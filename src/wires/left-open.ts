// The outcome of a call in a history that a client brings along and leaves without a result: nobody will answer it here.
import type { Outcome } from '../language/calls.ts'

export const leftOpen: Outcome = {
  kind: 'abandoned',
  parts: [
    {
      type: 'text',
      text: 'Not run: the conversation was continued elsewhere before this call was answered.',
    },
  ],
  from: { source: 'runtime' },
}
