// The views of a session. The timeline is also a strip above the transcript, where there is room.
export const views = ['transcript', 'timeline', 'log', 'vendors', 'usage'] as const
export type ViewName = (typeof views)[number]

/** The request to a vendor has the agent's instructions: it is for operators. */
export function viewsFor(operator: boolean): readonly ViewName[] {
  return operator ? views : views.filter(name => name !== 'vendors')
}
