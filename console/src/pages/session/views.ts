// The views of a session. On a wide screen the timeline is a strip above the transcript, and no view of its own.
export const views = ['transcript', 'timeline', 'log', 'vendors', 'usage'] as const
export type ViewName = (typeof views)[number]
